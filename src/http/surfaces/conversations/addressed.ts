import type { ConversationService } from '../../../contract/conversation.ts'
import { ID } from '../../../contract/id.ts'
import type { EdgeEnv } from '../../context.ts'
import { conversationStub } from '../../runs/conversation-stub.ts'
import { Problem } from '../../problem.ts'
import { invalidRequest } from '../runs.ts'

interface RouteContext {
  readonly req: { param(name: 'id' | 'run'): string }
  readonly env: EdgeEnv['Bindings']
}

/** Returns the conversation that the path names. */
export function conversationOfPath(c: RouteContext): ConversationService {
  return conversationStub(c.env, conversationIdOfPath(c))
}

/** Returns the conversation's id in the path. An invalid id gets the same 404 as an unknown one or another tenant's. */
export function conversationIdOfPath(c: RouteContext): string {
  const id = c.req.param('id')
  if (ID.test(id)) return id
  throw new Problem({ status: 404, code: 'unknown_conversation', message: 'There is no such conversation.' })
}

/** Returns the run's id in the path. Throws a Problem 404 for an invalid one. */
export function runIdOfPath(c: RouteContext): string {
  const run = c.req.param('run')
  if (ID.test(run)) return run
  throw new Problem({ status: 404, code: 'unknown_run', message: 'This conversation has no such run.' })
}

const MOST_PER_PAGE = 1000

export function pageSize(limit: string | undefined): number {
  return limit === undefined ? MOST_PER_PAGE : Math.min(positive(limit, 'limit'), MOST_PER_PAGE)
}

/** Reads which page a query asks for: `limit` entries, all before the number `before`. */
export function pageOf({ before, limit }: Readonly<Record<string, string | undefined>>): Page {
  return { before: before === undefined ? before : positive(before, 'before'), limit: pageSize(limit) }
}

interface Page {
  readonly before: number | undefined
  readonly limit: number
}

/** Parses the parameter `path`, which must be a whole number from 1. Throws a Problem 400 for other text. */
export function positive(text: string, path: string): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text)
  throw invalidRequest({ message: `"${path}" must be a whole number from 1.`, path })
}
