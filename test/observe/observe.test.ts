import { expect, test, vi } from 'vitest'
import type { Observer } from '../../src/contract/hook.ts'
import { failure } from '../../src/contract/tool.ts'
import { logs } from '../../src/observe/log.ts'
import { type Span, spans } from '../../src/observe/spans.ts'
import { ask, id, play, RUN_ID, say, tool } from '../fixtures/play.ts'

const scene = {
  script: [ask(['add', { a: 1 }], ['broken']), say('done')],
  tools: [tool('add', () => '3'), tool('broken', () => failure('gone', 'The secret is gone.'))],
  request: { conversation: 'conv_1' },
}

const CALLS = { runId: RUN_ID, tenant: 'acme', durationMs: 0 }
const STEP = { runId: RUN_ID, tenant: 'acme', usage: { inputTokens: 10, outputTokens: 5 } }
const RUN = {
  event: 'run',
  runId: RUN_ID,
  tenant: 'acme',
  conversation: 'conv_1',
  model: 'test/scripted',
  status: 'completed',
  finish: 'stop',
  usage: { inputTokens: 20, outputTokens: 10 },
}

test('logs have steps, calls and runs without content', async () => {
  const entries: object[] = []
  await play({ ...scene, loop: { observe: logs((entry) => entries.push(entry)) } })
  expect(entries).toEqual([
    { event: 'step', ...STEP, step: 1, finish: 'tool_calls', calls: 2 },
    { event: 'call', ...CALLS, callId: id(1, 0), tool: 'add', ok: true, bytes: 1 },
    { event: 'call', ...CALLS, callId: id(1, 1), tool: 'broken', ok: false, bytes: 0, code: 'gone' },
    { event: 'step', ...STEP, step: 2, finish: 'stop', calls: 0 },
    RUN,
  ])
})

test('logs have content if `includeContent` is set', async () => {
  const entries: object[] = []
  await play({ ...scene, loop: { observe: logs((entry) => entries.push(entry), { includeContent: true }) } })
  expect(entries).toMatchObject([
    { event: 'step' },
    { arguments: { a: 1 }, content: [{ type: 'text', text: '3' }] },
    { arguments: {}, error: { code: 'gone', message: 'The secret is gone.' } },
    { event: 'step', text: 'done' },
    { answer: 'done' },
  ])
})

test('a run is a trace of the run, its model calls, and below each the calls that it requested', async () => {
  const seen: Span[] = []
  await play({ ...scene, loop: { observe: spans((span) => seen.push(span), { now: () => 5 }) } })
  const run = seen.find(({ name }) => name === 'invoke_agent')
  const [first, second] = seen.filter(({ name }) => name === 'chat test/scripted')
  const tree = seen.map(({ name, parentId, error }) => [
    name,
    parentId === run?.spanId ? 'run' : parentId === first?.spanId ? 'first step' : parentId,
    error,
  ])
  expect(tree).toEqual([
    ['chat test/scripted', 'run', undefined],
    ['execute_tool add', 'first step', undefined],
    ['execute_tool broken', 'first step', 'gone'],
    ['chat test/scripted', 'run', undefined],
    ['invoke_agent', undefined, undefined],
  ])
  expect(new Set(seen.map(({ traceId }) => traceId)).size).toBe(1)
  expect(second?.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'test/scripted',
    'gen_ai.response.finish_reason': 'stop',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'edgecall.step': 2,
  })
  expect(seen[2]?.attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'broken',
    'gen_ai.tool.call.id': id(1, 1),
    'gen_ai.tool.type': 'function',
    'edgecall.attempt': 1,
    'edgecall.ok': false,
  })
})

test('a run whose object restarts is still one trace', async () => {
  const tell = async (lives: 1 | 2) => {
    const seen: Span[] = []
    const life = () => spans((span) => seen.push(span), { now: () => 5 })
    let observe = life()
    const observer: Observer = (event, run) => {
      observe(event, run)
      // The first step has been answered by then; its calls end in another life.
      if (lives === 2 && event.type === 'step.answered' && event.step === 1) observe = life()
    }
    await play({ ...scene, loop: { observe: observer } })
    return seen
  }
  const [one, two] = [await tell(1), await tell(2)]
  expect(new Set([...one, ...two].map(({ traceId }) => traceId))).toEqual(
    new Set([expect.stringMatching(/^[0-9a-f]{32}$/)]),
  )
  const tree = (spans: readonly Span[]) => spans.map(({ name, spanId, parentId }) => ({ name, spanId, parentId }))
  expect(tree(two)).toEqual(tree(one))
  expect(new Set(one.map(({ spanId }) => spanId)).size).toBe(one.length)
})

test('spans have arguments and results if `includeContent` is set', async () => {
  const seen: Span[] = []
  await play({ ...scene, loop: { observe: spans((span) => seen.push(span), { includeContent: true }) } })
  expect(seen[1]?.attributes).toMatchObject({
    'gen_ai.tool.call.arguments': '{"a":1}',
    'gen_ai.tool.call.result': '[{"type":"text","text":"3"}]',
  })
})

test('an observer that throws is reported and does not stop the run', async () => {
  const { state, faults } = await play({
    script: [say('done')],
    loop: {
      observe: () => {
        throw new Error('no disk')
      },
    },
  })
  expect(state.finished?.answer).toBe('done')
  expect(faults).toMatchObject([{ code: 'observer_failed', detail: 'no disk' }, {}, {}, {}, {}])
})

test('logs drop the arguments of a run that hands its calls to the caller', async () => {
  const set = vi.spyOn(Map.prototype, 'set')
  try {
    const observer = logs(() => {}, { includeContent: true })
    const scene = { script: [ask(['theirs', { a: 1 }])], loop: { observe: observer } }
    const theirs = { name: 'theirs', description: '', inputSchema: {} }
    await play({ ...scene, request: { clientTools: [theirs] } })
    const kept = set.mock.contexts.filter((map) => map instanceof Map && JSON.stringify([...map]).includes(id(1, 0)))
    expect(kept).toEqual([])
  } finally {
    set.mockRestore()
  }
})
