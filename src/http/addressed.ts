import type { ConversationService } from '../contract/conversation.ts'
import { ID } from '../contract/id.ts'
import type { EdgeEnv } from './context.ts'
import { conversationOf } from './keeper.ts'
import { Problem } from './problem.ts'
import { invalidRequest } from './runs.ts'

interface Routed {
  readonly req: { param(name: 'id' | 'run'): string }
  readonly env: EdgeEnv['Bindings']
}

/** The conversation of a path. */
export function serviceOf(c: Routed): ConversationService {
  return conversationOf(c.env.setup, c.env.caller.tenant, idOf(c))
}

/** Its id. One that cannot be one names nothing, as a foreign one does. */
export function idOf(c: Routed): string {
  const id = c.req.param('id')
  if (ID.test(id)) return id
  throw new Problem({ status: 404, code: 'unknown_conversation', message: 'There is no such conversation.' })
}

/** The run of a path. */
export function runIdOf(c: Routed): string {
  const run = c.req.param('run')
  if (ID.test(run)) return run
  throw new Problem({ status: 404, code: 'unknown_run', message: 'This conversation has no such run.' })
}

const MOST_LISTED = 1000

export function pageSize(limit: string | undefined): number {
  return limit === undefined ? MOST_LISTED : Math.min(positive(limit, 'limit'), MOST_LISTED)
}

/** The page that a query asks for, by the number before which it ends. */
export function pageOf({ before, limit }: Readonly<Record<string, string | undefined>>): Page {
  return { before: before === undefined ? before : positive(before, 'before'), limit: pageSize(limit) }
}

interface Page {
  readonly before: number | undefined
  readonly limit: number
}

/** A whole number from 1 of a query. */
function positive(text: string, path: string): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text)
  throw invalidRequest({ message: `"${path}" is a whole number from 1.`, path })
}
