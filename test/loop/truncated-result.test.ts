import { expect, test } from 'vitest'
import { failure, type ToolOutcome } from '../../src/contract/tool.ts'
import { ask, id, play, say, tool } from '../fixtures/play.ts'

const letters = Array.from({ length: 40 }, (_, index) => String.fromCharCode(97 + (index % 26)).repeat(100)).join('')
const long = tool('long', () => letters)
const limits = { resultBytes: 1000 }

test('a truncated result is shown in part, and the model can read the rest', async () => {
  const { state, requests } = await play({
    script: [
      ask(['long']),
      ask(['read_result', { id: id(1, 0), offset: 1000 }]),
      ask(['read_result', { id: id(1, 0), offset: 3900 }]),
      say('read'),
    ],
    tools: [long],
    request: { limits },
  })
  expect(requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ['long'],
    ['long', 'read_result'],
    ['long', 'read_result'],
    ['long', 'read_result'],
  ])
  const results = state.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
  expect(results).toEqual([
    [
      {
        type: 'text',
        text: `${letters.slice(0, 1000)}\n[cut: 1000 of 4000 bytes shown; read_result reads on with the id "${id(1, 0)}" from offset 1000]`,
      },
    ],
    [
      {
        type: 'text',
        text: `${letters.slice(1000, 1800)}\n[1000 to 1800 of 4000 characters; read on from offset 1800]`,
      },
    ],
    [{ type: 'text', text: `${letters.slice(3900)}\n[3900 to 4000 of 4000 characters]` }],
  ])
  expect(state.calls[0]?.result?.cut).toBe(4000)
})

test('the note at a cut has the size of the whole text, whatever the text ends with', async () => {
  const long = `${'a'.repeat(3000)}\n[cut: 1 of 2 bytes shown]`
  const failed = tool('failed', () => failure('tool_failed', long))
  const { state } = await play({
    script: [ask(['imitating'], ['failed']), say('read')],
    tools: [tool('imitating', () => long), failed],
    request: { limits },
  })
  const head = 'a'.repeat(1000)
  const [imitating, failing] = state.calls
  expect(imitating?.result?.content).toEqual([
    {
      type: 'text',
      text: `${head}\n[cut: 1000 of 3026 bytes shown; read_result reads on with the id "${id(1, 0)}" from offset 1000]`,
    },
  ])
  expect(failing?.result?.error?.message).toBe(`${head}\n[cut: 1000 of 3026 bytes shown]`)
})

test('the note at a cut has the size of a text that was over the limit for results that are stored', async () => {
  const bytes = 9 * 1024 * 1024
  const { state } = await play({
    script: [ask(['huge']), say('read')],
    tools: [tool('huge', () => 'a'.repeat(bytes))],
    request: { limits },
  })
  expect(state.calls[0]?.result?.content).toEqual([
    {
      type: 'text',
      text: `${'a'.repeat(1000)}\n[cut: 1000 of ${bytes} bytes shown; read_result reads on with the id "${id(1, 0)}" from offset 1000]`,
    },
  ])
})

test('a truncated result is not cut within a character, and reading past its end returns nothing', async () => {
  const faces = '😀'.repeat(500)
  const readOn = (offset: number): [string, object] => ['read_result', { id: id(1, 0), offset }]
  const { state } = await play({
    script: [ask(['faces']), ask(readOn(1), readOn(201), readOn(5000)), say('ok')],
    tools: [tool('faces', () => faces)],
    request: { limits: { resultBytes: 1004 } },
  })
  expect(state.calls.slice(1).map(({ result }) => result?.content)).toEqual([
    [{ type: 'text', text: `${'😀'.repeat(201)}\n[0 to 402 of 1000 characters; read on from offset 402]` }],
    [{ type: 'text', text: `${'😀'.repeat(201)}\n[200 to 602 of 1000 characters; read on from offset 602]` }],
    [{ type: 'text', text: '\n[1000 to 1000 of 1000 characters]' }],
  ])
})

test.each([2000, 4_000_000])('a value of %d bytes beside a short text is omitted, and can be read', async (bytes) => {
  const structured = { all: 'x'.repeat(bytes - 10) }
  const text = JSON.stringify(structured)
  const undone: ToolOutcome[] = []
  const hoard = {
    ...tool('hoard', () => ({ ok: true, content: [{ type: 'text', text: 'Much.' }], structured }), { undo: true }),
    undo: async (_: object, done: ToolOutcome) => {
      undone.push(done)
      return { ok: true, content: [] } as const
    },
  }
  const { state } = await play({
    script: [ask(['hoard']), ask(['read_result', { id: id(1, 0), offset: 6 }]), ask(['broken'])],
    tools: [hoard, tool('broken', () => failure('tool_failed', 'No.'))],
    request: { limits, compensate: true, toolErrors: 'fail' },
  })
  const [first, second] = state.calls
  expect(first?.result?.content).toEqual([
    { type: 'text', text: 'Much.' },
    {
      type: 'text',
      text: `[value of ${bytes} bytes left out: over the limit for results; read_result reads on with the id "${id(1, 0)}" from offset 6]`,
    },
  ])
  expect(second?.result?.content).toEqual([
    {
      type: 'text',
      text: `${text.slice(0, 800)}\n[6 to 806 of ${bytes + 6} characters; read on from offset 806]`,
    },
  ])
  expect(undone).toMatchObject([{ ok: true, structured }])
  expect(JSON.stringify(state).length).toBeLessThan(8000)
})

test('read_result is not offered and cannot be called if nothing was truncated', async () => {
  const { state, requests } = await play({
    script: [ask(['read_result', { id: id(1, 0) }]), say('no')],
    tools: [tool('short', () => 'short')],
  })
  expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['short'])
  expect(state.calls[0]?.result?.error?.code).toBe('unknown_tool')
})

test('read_result fails for an unknown id', async () => {
  const { state } = await play({
    script: [ask(['long']), ask(['read_result', { id: 'call_of_another' }], ['read_result']), say('no')],
    tools: [long],
    request: { limits },
  })
  expect(state.calls.slice(1).map(({ result }) => result?.error?.code)).toEqual(['unknown_result', 'unknown_result'])
})

test('a result that was truncated in an earlier turn can be read', async () => {
  const { requests } = await play({
    script: [say('hi')],
    history: [
      { role: 'user', content: 'Look' },
      { role: 'assistant', content: '', calls: [{ callId: 'c', tool: 'long', arguments: '{}' }] },
      { role: 'tool', callId: 'c', tool: 'long', ok: true, content: [{ type: 'text', text: 'a' }], cut: 9 },
    ],
  })
  expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['read_result'])
})
