import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../src/contract/json.ts'
import { compareTexts } from '../../src/definitions/change.ts'

const object = (properties: object, rest: object = {}): JsonSchema => ({ type: 'object', properties, ...rest })
const text = { type: 'string' }
const number = { type: 'number' }

function changeOf(before: object, after: object) {
  const textOf = (rest: object) =>
    JSON.stringify({ name: 't', description: 'Does.', inputSchema: { type: 'object' }, static: { text: 'x' }, ...rest })
  return compareTexts(textOf(before), textOf(after))
}

describe('a change of the rest of a definition', () => {
  const http = (rest: object, others: object = {}) => ({
    static: undefined,
    http: { method: 'GET', url: 'https://a.example.com/x', ...rest },
    ...others,
  })

  test.each<[string, object, object]>([
    [
      'words, limits and tags',
      { description: 'A.' },
      { description: 'B.', timeoutMs: 5, tags: ['x'], default: true, version: '2' },
    ],
    ['a promise more', {}, { annotations: { readOnly: true, idempotent: true } }],
    ['a result that says more of itself', {}, { outputSchema: text }],
    [
      'a result with a field more',
      http({}, { outputSchema: object({ a: text }) }),
      http({}, { outputSchema: object({ a: text, b: number }) }),
    ],
    ['a narrower result', http({}, { outputSchema: number }), http({}, { outputSchema: { type: 'integer' } })],
    ['another path of the same host', http({}), http({ url: 'https://a.example.com/y', query: { v: '2' } })],
    ['another fixed text', {}, { static: { text: 'y' } }],
    ['other code with the same results', { ...code('1'), outputSchema: text }, { ...code('2'), outputSchema: text }],
    [
      'the same code with a secret more',
      code('1', { hosts: ['a', 'b'] }),
      code('1', { hosts: ['b', 'a'], secrets: ['SECRET_A'] }),
    ],
  ])('is compatible: %s', (_, before, after) => {
    expect(changeOf(before, after)).toEqual({ change: 'compatible', breaks: [] })
  })

  test.each<[string, object, object, string[]]>([
    [
      'a promise less',
      { annotations: { readOnly: true, destructive: false } },
      {},
      ['annotations.readOnly', 'annotations.destructive'],
    ],
    ['an approval', {}, { approval: 'always' }, ['approval']],
    ['another way of the result', {}, { returnDirect: 'always' }, ['returnDirect']],
    ['a wider result', { outputSchema: text }, { outputSchema: { type: ['string', 'null'] } }, ['outputSchema.type']],
    [
      'a closed result with a field more',
      http({}, { outputSchema: object({ a: text }, { additionalProperties: false }) }),
      http({}, { outputSchema: object({ a: text, b: number }, { additionalProperties: false }) }),
      ['outputSchema.properties.b'],
    ],
    [
      'a result with a field less',
      http({}, { outputSchema: object({ a: text }, { required: ['a'] }) }),
      http({}, { outputSchema: object({}) }),
      ['outputSchema.properties.a'],
    ],
    ['a result that nothing is said of', { outputSchema: text }, {}, ['outputSchema']],
    ['another host', http({}), http({ url: 'https://b.example.com/x' }), ['http.url']],
    ['another method and part', http({}), http({ method: 'HEAD', result: '/a' }), ['http.method', 'http.result']],
    ['another kind', {}, http({}), ['static', 'http.url', 'http.method', 'http.result']],
    ['another bound tool', alias('TOOL_A'), alias('TOOL_B'), ['binding']],
    ['other code', code('1'), code('2'), ['code.module']],
    ['code that goes elsewhere', code('1', { hosts: ['a'] }), code('1', { hosts: ['a', 'b'] }), ['code.hosts']],
    ['code in the place of a text', {}, code('1'), ['static', 'code', 'code.hosts']],
  ])('is breaking: %s', (_, before, after, paths) => {
    const { change, breaks } = changeOf(before, after)
    expect([change, breaks.map(({ path }) => path)]).toEqual(['breaking', paths])
  })

  test('is absent for the same content in another order', () => {
    expect(changeOf({ title: 'A', version: '1' }, { version: '1', title: 'A' }).change).toBe('unchanged')
  })

  test('is breaking if a version can no longer be read', () => {
    expect(compareTexts('{}', 'x')).toMatchObject({ change: 'breaking', breaks: [{ path: '' }] })
  })

  function code(module: string, rest: object = {}): object {
    return { static: undefined, code: { module, ...rest } }
  }

  function alias(binding: string): object {
    return { static: undefined, binding, call: 'x' }
  }
})
