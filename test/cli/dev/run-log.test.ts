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

test('the log prints a run that begins to wait, and the complete tree once it has laterEntries', () => {
  const of = { runId: 'run_a', tenant: 'local' }
  const step = { event: 'step', step: 1, finish: 'tool_calls', calls: 1, usage: USAGE, ...of }
  const request = { event: 'approval.requested', callId: 'call_1', tool: 'sendMail', ...of }
  const waiting = { event: 'run.waiting', for: 'approval', model: 'openai/x', conversation: 'c1', ...of }
  expect(printed([step, request, waiting])).toBe(`run_a  waits for approval  openai/x  c1
├ step 1  1 call  10+5 tokens
└   sendMail  waits for approval
`)
  const laterEntries = [
    { event: 'call', tool: 'sendMail', ok: true, durationMs: 3, bytes: 4, ...of },
    { event: 'step', step: 2, finish: 'stop', calls: 0, ...of },
    { event: 'run', model: 'openai/x', status: 'completed', finish: 'stop', usage: USAGE, conversation: 'c1', ...of },
  ]
  expect(printed([step, request, waiting, ...laterEntries]).split(/^(?=run_)/m)[1])
    .toBe(`run_a  completed  openai/x  10+5 tokens  c1
├ step 1  1 call  10+5 tokens
│   sendMail  waits for approval
│   sendMail  3 ms  4 characters
└ step 2  answer
`)
})

test('the log prints what a decision model has said about calls and results', () => {
  const of = { runId: 'run_a', tenant: 'local' }
  const judgement = { event: 'call.judged', durationMs: 40, ...of }
  const lines = [
    { event: 'step', step: 1, finish: 'tool_calls', calls: 3, ...of },
    { ...judgement, callId: '1', tool: 'pay', ok: true, answer: 'go_ahead', probabilities: { go_ahead: 0.993 } },
    { ...judgement, callId: '2', tool: 'drop', ok: false, code: 'model_timeout' },
    {
      ...judgement,
      callId: '3',
      tool: 'read',
      about: 'result',
      ok: false,
      answer: 'attack',
      probabilities: { attack: 0.9 },
    },
    { event: 'run', model: 'openai/x', status: 'completed', finish: 'stop', ...of },
  ]
  expect(printed(lines)).toBe(`run_a  completed  openai/x
├ step 1  3 calls
│   pay  goes ahead: go_ahead 99 %
│   drop  needs a person: no answer (model_timeout)
└   read  is withheld: attack 90 %
`)
})

test('the log prints the calls of a program below it, and what they wait for', () => {
  const of = { runId: 'run_a', tenant: 'local' }
  const [id, other] = ['call_a_1_0', 'call_a_1_1']
  const call = { event: 'call', ok: true, durationMs: 3, bytes: 4, ...of }
  const lines = [
    { event: 'step', step: 1, finish: 'tool_calls', calls: 2, ...of },
    { ...call, callId: `${id}-0`, tool: 'inbox', parent: id },
    { event: 'approval.requested', callId: `${id}-1`, tool: 'sendMail', ...of },
    { ...call, callId: other, tool: 'add' },
    { event: 'call.suspended', callId: id, tool: 'run_code', ...of },
  ]
  const waiting = { event: 'run.waiting', for: 'approval', model: 'openai/x', ...of }
  const ending = [
    { event: 'call.failed', callId: `${id}-1`, tool: 'sendMail', code: 'tool_failed', detail: 'No server', ...of },
    { ...call, callId: `${id}-1`, tool: 'sendMail', ok: false, code: 'tool_failed', parent: id },
    { ...call, callId: id, tool: 'run_code', durationMs: 9 },
    { event: 'run', model: 'openai/x', status: 'completed', finish: 'stop', ...of },
  ]
  expect(printed([...lines, waiting, ...ending])).toBe(`run_a  waits for approval  openai/x
├ step 1  2 calls
│   add  3 ms  4 characters
│   run_code  waits for its calls
│     inbox  3 ms  4 characters
└     sendMail  waits for approval
run_a  completed  openai/x
├ step 1  2 calls
│   add  3 ms  4 characters
│   run_code  waits for its calls
│   run_code  9 ms  4 characters
│     inbox  3 ms  4 characters
│     sendMail  waits for approval
│   ! sendMail  failed (tool_failed)  No server
└     sendMail  3 ms  failed (tool_failed)
`)
})

test.each([
  ['caller', 'call.requested', 'run_a  waits for its caller  openai/x\n└   pick  waits for its caller\n'],
  ['tool', 'call.deferred', 'run_a  waits for a tool  openai/x\n└   pick  is answered later\n'],
])('the log tells that a run waits for its %s', (waitsFor, event, text) => {
  const of = { runId: 'run_a', tenant: 'local' }
  const waiting = { event: 'run.waiting', for: waitsFor, model: 'openai/x', ...of }
  expect(printed([{ event, callId: 'call_1', tool: 'pick', ...of }, waiting])).toBe(text)
})

test('the log prints a run that is parked at once, and which limit a run has reached', () => {
  const parking = { event: 'run.parked', runId: 'run_a', detail: 'The object was lost 3 times.' }
  expect(printed([parking])).toBe('run_a  parked\n└ ! run.parked  The object was lost 3 times.\n')
  const runEnd = {
    event: 'run',
    runId: 'run_a',
    model: 'openai/x',
    status: 'completed',
    finish: 'limit',
    which: 'tokens',
  }
  expect(printed([runEnd])).toBe('run_a  completed (limit tokens)  openai/x\n')
})

test('the log puts the faults that `npm start` shows as errors into the tree, with their stacks indented', () => {
  const fault = {
    event: 'call.failed',
    runId: 'run_a',
    tool: 'charge',
    code: 'tool_failed',
    detail: 'Error: no\n  at x',
  }
  const runEnd = { event: 'run', runId: 'run_a', model: 'openai/x', status: 'completed', finish: 'stop' }
  const call = {
    event: 'call',
    runId: 'run_a',
    tool: 'charge',
    ok: false,
    durationMs: 3,
    bytes: 0,
    code: 'tool_failed',
  }
  expect(printed([`✘ [ERROR] ${JSON.stringify(fault)}`, '', '', call, runEnd])).toBe(`run_a  completed  openai/x
│ ! charge  failed (tool_failed)  Error: no
│       at x
└   charge  3 ms  failed (tool_failed)
`)
})

test('the log prints entries of no run as words', () => {
  const exhausted = { event: 'budget.exhausted', tenant: 'acme', key: 'shop', which: 'tokens' }
  const unavailable = { event: 'tools.unavailable', place: 'TOOL_A', detail: 'no answer' }
  const failed = { event: 'report.failed', reporter: 'traces', runId: 'run_a', attempts: 2, detail: 'It answered 400.' }
  expect(printed([exhausted, `✘ [ERROR] ${JSON.stringify(unavailable)}`, '', failed])).toBe(
    `! budget.exhausted  tenant acme  key shop  which tokens
! tools.unavailable  place TOOL_A  no answer
! report.failed  reporter traces  runId run_a  attempts 2  It answered 400.
`,
  )
})

test('the log prints other lines unchanged, without those of requests', () => {
  expect(printed(['hello', '', '[wrangler:info] GET /health 200 OK (3ms)', '{"event":'])).toBe('hello\n\n{"event":\n')
})
