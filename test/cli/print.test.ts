import { expect, test } from 'vitest'
import { runPrinter } from '../../src/cli/print.ts'
import type { RunEventBody } from '../../src/contract/event.ts'

const origins: Record<string, string> = { add: 'edgecall-calculator', hours: 'kv' }
const FINISHED = {
  type: 'run.finished',
  status: 'completed',
  finish: 'stop',
  usage: { inputTokens: 0, outputTokens: 0 },
} as const

function printed(...events: RunEventBody[]): string {
  let out = ''
  const print = runPrinter({ write: (text) => (out += text), origin: (tool) => origins[tool] ?? 'unknown' })
  events.forEach((event, index) => print({ ...event, runId: 'run_1', seq: index + 1 }))
  return out
}

function call(callId: string, tool: string, args: string): RunEventBody[] {
  return [
    { type: 'call.proposed', callId, tool, arguments: args },
    { type: 'call.started', callId, tool, attempt: 1, at: 0, deadline: 1 },
  ]
}

test('printing shows calls, progress, results and the answer in the order in which they arrive', () => {
  const out = printed(
    { type: 'run.started', model: 'm', tools: [], at: 0 },
    { type: 'text.delta', step: 1, text: 'Let me ' },
    { type: 'text.delta', step: 1, text: 'see.' },
    ...call('a', 'add', '{"x":\n  1}'),
    ...call('b', 'hours', '{}'),
    { type: 'call.progress', callId: 'a', fraction: 0.5 },
    { type: 'call.progress', callId: 'a', message: 'half way' },
    {
      type: 'call.settled',
      callId: 'b',
      tool: 'hours',
      ok: false,
      error: { code: 'timeout', message: 'Too late.' },
      durationMs: 9,
    },
    { type: 'call.settled', callId: 'a', tool: 'add', ok: true, content: [{ type: 'text', text: '2' }], durationMs: 1 },
    { type: 'text.delta', step: 2, text: 'It is ' },
    { type: 'text.delta', step: 2, text: '2.' },
    { ...FINISHED, answer: 'It is 2.' },
  )
  expect(out).toBe(`Let me see.
  call    add (edgecall-calculator) {"x": 1}
  call    hours (kv) {}
          half way
  result  hours, 9 ms: failed (timeout): Too late.
  result  add, 1 ms: 2
It is 2.
`)
})

test('printing shows an answer that did not come from a model', () => {
  const content = [{ type: 'text', text: 'Card\n42' }] as const
  const settled = { type: 'call.settled', callId: 'a', tool: 'add', ok: true, content, durationMs: 1 } as const
  const out = printed(...call('a', 'add', '{}'), settled, { ...FINISHED, finish: 'return_direct', answer: 'Card\n42' })
  expect(out).toBe('  call    add (edgecall-calculator) {}\n  result  add, 1 ms: Card 42\nCard\n42\n')
})

test('printing shortens long results', () => {
  const text = 'x'.repeat(700)
  const out = printed({
    type: 'call.settled',
    callId: 'a',
    tool: 'add',
    ok: true,
    content: [{ type: 'text', text }],
    durationMs: 1,
  })
  const line = `add, 1 ms: ${'x'.repeat(700)}`
  expect(out).toBe(`  result  ${line.slice(0, 600)}… (${line.length} characters)\n`)
})
