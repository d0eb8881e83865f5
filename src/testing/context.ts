import { randomUUID } from 'node:crypto'
import type { ToolContext } from '../contract/tool.ts'

/** How long a call may take, in milliseconds. */
const CALL_MS = 30_000

/** The context of a call by an edge for tests. */
export function newContext(): ToolContext {
  const id = randomUUID()
  return {
    runId: `run_${id}`,
    callId: `call_${id}`,
    idempotencyKey: id,
    attempt: 1,
    deadline: Date.now() + CALL_MS,
    caller: { tenant: 'test', scopes: [] },
    values: {},
  }
}
