import type { Hono } from 'hono/tiny'
import type { EdgeEnv } from './context.ts'
import type { Formats } from './respond/stream.ts'
import type { Problem } from './problem.ts'
import type { Setup } from '../contract/setup.ts'

/** An API of the edge, in a format of its own. */
export interface Surface {
  /** Its routes, by the path under which they are. */
  readonly routes: Readonly<Record<string, Hono<EdgeEnv>>>
  /** Whether anyone may ask, without a key. Default: a valid key is needed. */
  readonly isPublic?: boolean
  /** Whether it limits the rate of public requests itself. Default: they are counted by the address of the client. */
  readonly limitsRate?: boolean
  /** Whether pages of any origin may read its answers. Default: those of `CORS_ORIGINS`. */
  readonly anyOrigin?: boolean
  /** The formats that `?format=` can name where the native API answers with a run. Default: none. */
  readonly formats?: Formats
  /** What differs for its clients. Of two surfaces, that of the longer path comes first, with its routes too. */
  readonly dialect?: Dialect
}

/** How requests under a path differ: with `header`, only those that have it. */
export interface Dialect {
  readonly under: string
  readonly header?: string
  /** A header that may have the key. Default: only `Authorization`. */
  readonly keyHeader?: string
  /** The path whose URL a token may name as its audience, beside the configured one (RFC 8707). Default: none. */
  readonly resource?: string
  /**
   * How errors are answered: `application/problem+json` (RFC 9457) by default. Gets no context if the edge could not be
   * set up.
   */
  readonly answer: (problem: Problem, context?: ProblemContext) => Response | Promise<Response>
}

/** The request that a Problem answers. */
export interface ProblemContext {
  readonly request: Request
  readonly setup: Setup
}

/** A part of an edge that is an API alone, such as `chatCompletions`. */
export interface SurfacePart {
  readonly name: string
  readonly surfaces: readonly Surface[]
}
