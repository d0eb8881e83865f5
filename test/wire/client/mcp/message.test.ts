import { describe, expect, test } from 'vitest'
import { readMessage, toMessage } from '../../../../src/wire/client/mcp/message.ts'

const PREFIX = 'io.modelcontextprotocol/'
const META = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'test', version: '1' },
  [`${PREFIX}clientCapabilities`]: {},
}
const VERSION = { 'mcp-protocol-version': '2026-07-28' }
const SUPPORTED = ['2026-07-28', '2025-11-25', '2025-06-18']

function read(body: unknown, headers: Record<string, string> = {}) {
  return readMessage(body, new Headers(headers))
}

function request(method: string, params?: unknown, id: unknown = 1): object {
  return { jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) }
}

describe('a message of an older revision', () => {
  test('names no revision in header or body, or an older one', () => {
    expect(read(request('ping', undefined, 'a'))).toEqual({
      id: 'a',
      method: 'ping',
      params: {},
      meta: {},
      modern: false,
    })
    expect(read(request('tools/list', { cursor: 'x' }), { 'mcp-protocol-version': '2025-06-18' })).toEqual({
      id: 1,
      method: 'tools/list',
      params: { cursor: 'x' },
      meta: {},
      modern: false,
    })
  })

  test('may name its revision in the body', () => {
    const meta = { ...META, [`${PREFIX}protocolVersion`]: '2025-11-25' }
    const versionHeader = { 'mcp-protocol-version': '2025-11-25' }
    expect(read(request('ping', { _meta: meta }), versionHeader)).toMatchObject({ method: 'ping', modern: false })
    expect(read(request('ping', { _meta: meta }), VERSION)).toMatchObject({ error: { code: -32020 } })
  })

  test('without an id is a notification', () => {
    const body = { jsonrpc: '2.0', method: 'notifications/initialized' }
    expect(read(body)).toEqual({ method: 'notifications/initialized', params: {}, meta: {}, modern: false })
  })

  test('negotiates its revision by initialize, whatever its header says', () => {
    for (const version of ['2024-11-05', '2026-07-28', 'nonsense'])
      expect(read(request('initialize'), { 'mcp-protocol-version': version })).toMatchObject({ modern: false })
  })

  test.each(['2025-03-26', '1999-01-01', 'nonsense'])('of the unsupported revision %s is refused', (requested) => {
    expect(read(request('ping'), { 'mcp-protocol-version': requested })).toMatchObject({
      id: 1,
      status: 400,
      error: { code: -32022, data: { supported: SUPPORTED, requested } },
    })
  })
})

describe('a message of the newest revision', () => {
  const headers = { ...VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
  const call = request('tools/call', { name: 'echo', _meta: META })

  test('names its revision in body and headers', () => {
    expect(read(call, headers)).toEqual({
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', _meta: META },
      meta: META,
      modern: true,
    })
  })

  test('may have a name in Base64', () => {
    const call = request('tools/call', { name: '天気', _meta: META })
    expect(read(call, { ...headers, 'mcp-name': '=?base64?5aSp5rCX?=' })).toMatchObject({ modern: true })
    expect(read(call, { ...headers, 'mcp-name': '=?base64?5aSp5rC?=' })).toMatchObject({ error: { code: -32020 } })
  })

  test('may have a name of any length, which is then refused', () => {
    const call = request('tools/call', { name: 'x'.repeat(2 ** 20), _meta: META })
    expect(read(call, headers)).toMatchObject({ status: 400, error: { code: -32020 } })
  })

  test('is one too if only its header names the revision, and then lacks required parts', () => {
    expect(read(request('tools/list'), headers)).toEqual({
      id: 1,
      status: 400,
      error: { code: -32602, message: `params._meta needs "${PREFIX}protocolVersion".` },
    })
    const { [`${PREFIX}clientCapabilities`]: _, ...rest } = META
    expect(read(request('tools/list', { _meta: rest }), headers)).toMatchObject({
      status: 400,
      error: { code: -32602 },
    })
  })

  test.each([
    ['no version', { ...headers, 'mcp-protocol-version': '' }],
    ['another version', { ...headers, 'mcp-protocol-version': '2025-11-25' }],
    ['no method', { ...VERSION, 'mcp-name': 'echo' }],
    ['another method', { ...headers, 'mcp-method': 'TOOLS/CALL' }],
    ['no name', { ...VERSION, 'mcp-method': 'tools/call' }],
    ['another name', { ...headers, 'mcp-name': 'Echo' }],
  ])('with %s in its headers is refused', (_, version) => {
    expect(read(call, version)).toMatchObject({ id: 1, status: 400, error: { code: -32020 } })
  })

  test('of an unsupported revision is refused with the supported ones, whatever else it lacks', () => {
    const requested = '2027-01-01'
    const meta = { ...META, [`${PREFIX}protocolVersion`]: requested }
    expect(read(request('x', { _meta: meta }), { 'mcp-protocol-version': requested })).toMatchObject({
      status: 400,
      error: { code: -32022, data: { supported: SUPPORTED, requested } },
    })
  })

  test('that is a notification needs no headers', () => {
    expect(read({ jsonrpc: '2.0', method: 'notifications/x' }, VERSION)).toMatchObject({ modern: true })
  })
})

test.each<[string, unknown]>([
  ['a batch', [request('ping')]],
  ['an empty batch', []],
  ['a text', 'ping'],
  ['nothing', null],
  ['another version of JSON-RPC', { id: 1, method: 'ping' }],
  ['no method', { jsonrpc: '2.0', id: 1 }],
  ['an answer to what was never asked', { jsonrpc: '2.0', id: 1, result: {} }],
  ['a method that is no text', { jsonrpc: '2.0', id: 1, method: 7 }],
  ['an id that is null', request('ping', undefined, null)],
  ['an id that is a fraction', request('ping', undefined, 1.5)],
  ['params that are a list', request('ping', [])],
])('%s is not a valid message', (_, body) => {
  expect(read(body)).toMatchObject({ status: 400, error: { code: -32600 } })
})

test('an answer has the id of its message, and in the newest revision its kind and server', () => {
  const result = { tools: [] }
  expect(toMessage({ id: 7, modern: false }, result)).toEqual({ jsonrpc: '2.0', id: 7, result: result })
  expect(toMessage({ id: 'a', modern: true }, result)).toEqual({
    jsonrpc: '2.0',
    id: 'a',
    result: {
      resultType: 'complete',
      tools: [],
      _meta: { [`${PREFIX}serverInfo`]: { name: 'edgecall', version: expect.any(String) } },
    },
  })
  expect(toMessage({ id: 7 }, { status: 400, error: { code: -1, message: 'No' } })).toEqual({
    jsonrpc: '2.0',
    id: 7,
    error: { code: -1, message: 'No' },
  })
})
