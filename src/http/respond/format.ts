import type { RunHandle } from '../runs/run-handle.ts'
import { answerRun } from './native.ts'
import { Problem } from '../problem.ts'
import type { StreamOptions } from './stream.ts'

/** Answers with a run. `onFirst`: as in the options of `streamRun`. */
export type Format = (handle: RunHandle, onFirst?: StreamOptions['onFirst']) => Promise<Response>

/** The values of `?format=`, each with how it answers with a run's events, from the first on. */
export type Formats = Readonly<Record<string, Format>>

interface FormatContext {
  readonly env: { readonly formats: Formats }
  readonly req: { readonly raw: Request }
}

/** Returns the format in which a request wants its run. Called before the run starts, as it throws like `queryFormat`. */
export function answerFormat(c: FormatContext): Format {
  return queryFormat(c) ?? ((handle) => answerRun(c.req.raw, handle))
}

/**
 * Returns the format that `?format=` names, if it is there. Throws a Problem 400 for a format that no surface of this
 * edge has.
 */
export function queryFormat({ env: { formats }, req }: FormatContext): Format | undefined {
  const name = new URL(req.raw.url).searchParams.get('format')
  if (name === null) return undefined
  if (Object.hasOwn(formats, name)) return formats[name]
  const names = Object.keys(formats)
  const available = names.length > 0 ? `the formats of this edge are ${names.join(' and ')}` : 'this edge has no others'
  const message = `There is no format "${name.slice(0, 80)}"; ${available}.`
  throw new Problem({ status: 400, code: 'invalid_request', message, param: 'format' })
}
