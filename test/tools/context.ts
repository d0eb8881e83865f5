import type { RunContext } from '../../src/tool.ts'

/** What a tool's `call` gets in a test, with parts of one's own. Progress goes nowhere, and nothing aborts. */
export function runContext<Env>(env: Env, parts: Partial<RunContext<Env>> = {}): RunContext<Env> {
  return {
    env,
    signal: new AbortController().signal,
    progress: () => {},
    values: {},
    caller: { tenant: 'acme', scopes: ['chat'] },
    runId: 'run_1',
    callId: 'call_1_1_0',
    idempotencyKey: 'key-1',
    attempt: 1,
    deadline: Date.now() + 30_000,
    ...parts,
  }
}
