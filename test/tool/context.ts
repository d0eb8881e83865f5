import type { RunContext } from '../../src/tool/run-context.ts'

/** What a tool's `call` gets in a test. Progress goes nowhere, and nothing aborts. */
export function runContextOf<Env>(env: Env): RunContext<Env> {
  return {
    env,
    signal: new AbortController().signal,
    progress: () => {},
    values: {},
    caller: { tenant: 'acme', scopes: ['chat'] },
    runId: 'run_1',
    callId: 'call_1',
    idempotencyKey: 'key_1',
    attempt: 1,
    deadline: 2_000_000_000_000,
  }
}

export const CONTEXT: RunContext = runContextOf<unknown>(undefined)
