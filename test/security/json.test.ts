import { describe, expect, test } from 'vitest'
import { testEdge } from '../fixtures/edge.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from '../http/kept-edge.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const deep = (levels: number, open = '[', close = ']') => `${open.repeat(levels)}${close.repeat(levels)}`
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

const SURFACES = [
  '/v1/chat/completions',
  '/v1/responses',
  '/runs',
  '/conversations',
  '/chat',
  '/ag-ui',
  '/tools/look/call',
  '/mcp',
]

describe.each(SURFACES)('a body for %s', (path) => {
  test.each<[string, BodyInit, number]>([
    ['10,000 arrays deep', deep(10_000), 400],
    ['10,000 objects deep', nested(10_000), 400],
    ['100,000 brackets that never close', '['.repeat(100_000), 400],
    ['deep within a member that is not known', `{"input":"x","messages":[],"junk":${deep(10_000)}}`, 400],
    ['a million keys', `{${Array.from({ length: 1_000_000 }, (_, index) => `"${index}":0`).join()}}`, 413],
    ['a text without end', `"${'x'.repeat(2 ** 21)}"`, 413],
    ['of bytes that are no UTF-8', new Uint8Array([0x22, 0xff, 0xfe, 0x22]), 400],
  ])('%s is refused', async (_, body, status) => {
    const edge = testEdge({ tools: [tool('look')] })
    const response = await edge.ask(path, {
      body,
      headers: { ...JSON_TYPE, accept: 'application/json, text/event-stream' },
    })
    expect([response.status, edge.requests, edge.reports]).toEqual([status, [], []])
  })
})

describe('a body of unusual JSON', () => {
  const echo = tool('echo', (args) => JSON.stringify(args))
  const call = async (body: string) => {
    const edge = testEdge({ tools: [echo] })
    const response = await edge.ask('/tools/echo/call', { body, headers: JSON_TYPE })
    const { content }: any = await response.json()
    return content?.[0].text ?? response.status
  }

  test.each([
    ['a key twice: the last counts', '{"arguments":{"a":1},"arguments":{"a":2}}', '{"a":2}'],
    ['half of a character', String.raw`{"arguments":{"a":"\ud800"}}`, '{"a":"\ufffd"}'],
    ['a number beyond all', '{"arguments":{"a":1e999}}', '{"a":"1e999"}'],
    ['an array for an object', '{"arguments":[]}', 422],
    ['no object at all', '7', 422],
  ])('%s', async (_, body, expected) => {
    expect(await call(body)).toBe(expected)
  })
})

describe('__proto__ and similar names are ordinary keys', () => {
  const hostile = '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"toString":"x"}'
  const inputs: unknown[] = []
  const look = tool('look', (args, { values }) => {
    inputs.push(Reflect.get(args, 'admin'), Reflect.get(values, 'admin'))
    return { ok: true, content: [{ type: 'text', text: 'ok' }], structured: JSON.parse(hostile) }
  })

  test('in requests, model answers and tool results', async () => {
    inputs.length = 0
    const edge = keptEdge({ script: [ask(['look', hostile]), say('ok'), say('ok')], tools: [look] })
    const post = (path: string, body: string) => edge.fetch(path, { method: 'POST', headers: JSON_TYPE, body })
    const creation = await post('/conversations', `{"id":"c","context":${hostile}}`)
    const run = await post('/conversations/c/runs', `{"input":"Hi","context":${hostile}}`)
    const direct = await post('/tools/look/call', `{"arguments":${hostile},"context":${hostile}}`)
    expect([creation.status, run.status, direct.status]).toEqual([201, 200, 200])
    expect(inputs).toEqual([undefined, undefined, undefined, undefined])
    expect(Reflect.get({}, 'admin')).toBeUndefined()
  })

  test.each(['__proto__', 'constructor', 'toString'])('in limits by tool: %s', async (name) => {
    const edge = testEdge({ script: [ask(['look'], ['look']), say('ok')], tools: [look] })
    const body = `{"input":"Hi","limits":{"tools":{"${name}":1}}}`
    const response = await edge.ask('/runs', { body, headers: JSON_TYPE })
    // No tool has this name.
    expect(await response.json()).toMatchObject({
      status: 400,
      param: 'limits.tools',
      detail: expect.stringContaining(name),
    })
  })
})

describe('arguments from a model', () => {
  test.each([
    ['10,000 levels deep', nested(10_000)],
    ['100,000 levels deep', nested(100_000)],
    ['a megabyte of one text', `{"a":"${'x'.repeat(2 ** 20)}"}`],
    ['that never end', '{"a":'.repeat(10_000)],
  ])('that are %s do not break the run', async (_, text) => {
    const script = [ask(['look', text], ['clock']), say('ok')]
    const edge = keptEdge({ script, tools: [tool('look', () => 'x'), tool('clock', () => '12:00')] })
    await edge.post('/conversations', { id: 'c' })
    const response = await edge.post('/conversations/c/runs', { input: 'Hi' })
    expect(response.status).toBe(200)
    const { status, answer, calls }: any = await response.json()
    expect([status, answer, calls[1].ok]).toEqual(['completed', 'ok', true])
  })

  test('that are too deep reach neither a tool nor a person', async () => {
    const calls: string[] = []
    const tools = [
      tool('look', () => calls.push('look')),
      tool('danger', () => calls.push('danger'), { approval: 'always' }),
    ]
    const edge = keptEdge({ script: [ask(['look', nested(5000)], ['danger', nested(5000)]), say('ok')], tools })
    await edge.post('/conversations', { id: 'c' })
    const run: any = await (await edge.post('/conversations/c/runs', { input: 'Hi' })).json()
    expect(run.calls.map(({ error }: any) => error.code)).toEqual(['invalid_arguments', 'invalid_arguments'])
    expect(calls).toEqual([])
  })
})

test.each([
  ['regex text', '(a+)+$'.repeat(20)],
  ['100 KB of one word', 'a'.repeat(100_000)],
  ['100 KB of classes', '[a-z]*'.repeat(16_000)],
  ['20,000 words', Array.from({ length: 20_000 }, (_, index) => `w${index}`).join(' ')],
  ['lone surrogates and controls', '\ud800\u0000\u202e%00'],
])('a tool search for %s does not fail', async (_, query) => {
  const edge = testEdge({ tools: [tool('aaaa'), tool('clock')] })
  const url = new URLSearchParams({ query })
  const response = await edge.ask(`/tools?${url.toString()}`)
  expect([response.status, edge.reports]).toEqual([200, []])
})

describe('a body of another charset', () => {
  const ask = (type: string, body: string | Uint8Array) =>
    testEdge({ script: [say('Hi.')] }).ask('/runs', { method: 'POST', headers: { 'content-type': type }, body })
  const utf16 = new Uint8Array(Buffer.from('{"input":"Hello"}', 'utf16le'))

  test.each(['utf-16', 'UTF-16LE', '"utf-16"', 'iso-8859-1', 'x'])('is refused: %s', async (charset) => {
    const response = await ask(`application/json; charset=${charset}`, utf16)
    expect([response.status, await response.json()]).toMatchObject([415, { code: 'unsupported_charset' }])
  })

  test.each(['utf-8', 'UTF8', '"utf-8"', 'us-ascii'])('is taken where it is part of UTF-8: %s', async (charset) => {
    expect((await ask(`application/json; charset=${charset}`, '{"input":"Hello"}')).status).toBe(200)
  })
})
