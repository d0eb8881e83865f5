import { expect, test } from 'vitest'
import { runLog } from '../../../src/cli/dev/run-log.ts'

/** What the log prints for these lines. */
function printed(lines: readonly (string | object)[]): string {
  let text = ''
  const log = runLog((more) => {
    text += more
  })
  for (const line of lines) log(typeof line === 'string' ? line : `[my-edge] ${JSON.stringify(line)}`)
  return text
}

const USAGE = { inputTokens: 10, outputTokens: 5 }

test('the log prints a run as one tree when it ends, with its steps and their calls', () => {
  const of = (runId: string) => ({ runId, tenant: 'local' })
  const text = printed([
    { event: 'step', step: 1, finish: 'tool_calls', calls: 2, usage: USAGE, ...of('run_a') },
    { event: 'step', step: 1, finish: 'stop', calls: 0, ...of('run_b') },
    { event: 'call', tool: 'add', ok: true, durationMs: 3, bytes: 12, ...of('run_a') },
    { event: 'run', model: 'openai/x', status: 'failed', finish: 'error', code: 'model_unreachable', ...of('run_b') },
    { event: 'call', tool: 'divide', ok: false, durationMs: 4, bytes: 0, code: 'by_zero', ...of('run_a') },
    { event: 'step', step: 2, finish: 'stop', calls: 0, usage: USAGE, ...of('run_a') },
    { event: 'run', model: 'openai/x', status: 'completed', finish: 'stop', usage: USAGE, ...of('run_a') },
  ])
  expect(text).toBe(`run_b  failed (model_unreachable)  openai/x
└ step 1  answer
run_a  completed  openai/x  10+5 tokens
├ step 1  2 calls  10+5 tokens
│   add  3 ms  12 characters
│   divide  4 ms  failed (by_zero)
└ step 2  answer  10+5 tokens
`)
})

test('the log prints other lines unchanged, without those of requests', () => {
  const fault = { event: 'tools.unavailable', place: 'TOOL_A', detail: 'x' }
  const text = printed(['hello', '[wrangler:info] GET /health 200 OK (3ms)', '{"event":', fault])
  expect(text).toBe(`hello\n{"event":\n[my-edge] ${JSON.stringify(fault)}\n`)
})
