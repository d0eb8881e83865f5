import { describe, expect, test } from 'vitest'
import { content, toOutcome } from '../../src/tool/result.ts'
import { text } from '../host/source/calls.ts'

function boom(): never {
  throw new Error('boom')
}

function* generate() {
  yield 1
}

const bytes = new Uint8Array([0, 127, 128, 255])
const DATA = 'AH+A/w=='
const FILE = { type: 'file', mediaType: 'application/octet-stream', data: DATA }

describe('content is made of one value', () => {
  test.each<[string, unknown, object]>([
    ['nothing', undefined, text('Success')],
    ['a text', ' "as it is"\n', text(' "as it is"\n')],
    ['an empty text', '', text('')],
    ['bytes', bytes, { ok: true, content: [FILE] }],
    ['a buffer', bytes.buffer, { ok: true, content: [FILE] }],
    ['a view of a buffer', new Uint8Array([9, ...bytes, 9]).subarray(1, 5), { ok: true, content: [FILE] }],
    [
      'an image',
      new Blob([bytes], { type: 'image/png' }),
      { ok: true, content: [{ type: 'image', mediaType: 'image/png', data: DATA }] },
    ],
    [
      'a file',
      new Blob([bytes], { type: 'application/pdf' }),
      { ok: true, content: [{ ...FILE, mediaType: 'application/pdf' }] },
    ],
    ['a file of no type', new Blob([bytes]), { ok: true, content: [FILE] }],
  ])('%s', async (_, value, outcome) => {
    expect(await toOutcome(value)).toEqual(outcome)
  })

  test.each<[string, unknown, unknown]>([
    ['null', null, null],
    ['a number', 5, 5],
    ['false', false, false],
    ['an object, nulls kept', { a: [1, null], b: undefined }, { a: [1, null] }],
    ['an empty list', [], []],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a bigint', { n: 2n ** 64n }, { n: '18446744073709551616' }],
    ['a map', new Map([['a', new Set([1])]]), { a: [1] }],
    ['bytes inside', { data: bytes }, { data: DATA }],
    ['what says itself how it is written', { toJSON: () => ({ a: 1 }) }, { a: 1 }],
    ['a URL', new URL('https://example.com/'), 'https://example.com/'],
    ['an instance of a class', new (class Point {})(), {}],
    ['an error with facts', Object.assign(new Error('x'), { errno: 5 }), { errno: 5 }],
    ['what has no prototype', Object.create(null), {}],
    ['boxed values', [new Number(5), new String('a'), new Boolean(false)], [5, 'a', false]],
  ])('as compact JSON: %s', async (_, value, structured) => {
    const json = JSON.stringify(structured)
    expect(await toOutcome(value)).toEqual({ ok: true, content: [{ type: 'text', text: json }], structured })
  })

  test('of many bytes', async () => {
    const many = new Uint8Array(100_000).map((_, index) => index % 251)
    const outcome = await toOutcome(many)
    const [part] = outcome.ok ? outcome.content : []
    expect(part?.type === 'file' && Buffer.from(part.data, 'base64').equals(Buffer.from(many))).toBe(true)
  })
})

describe('content is made', () => {
  test('of texts, bytes and parts, in their order', async () => {
    const parts = content(
      'The map:',
      new Blob([bytes], { type: 'image/webp' }),
      bytes,
      { type: 'image', mediaType: 'image/png', data: bytes },
      { type: 'file', mediaType: 'text/csv', data: 'YQ==' },
      { type: 'text', text: 'That is all.' },
    )
    expect(await toOutcome(parts)).toEqual({
      ok: true,
      content: [
        { type: 'text', text: 'The map:' },
        { type: 'image', mediaType: 'image/webp', data: DATA },
        FILE,
        { type: 'image', mediaType: 'image/png', data: DATA },
        { type: 'file', mediaType: 'text/csv', data: 'YQ==' },
        { type: 'text', text: 'That is all.' },
      ],
    })
  })

  test('of no parts', async () => {
    expect(await toOutcome(content())).toEqual({ ok: true, content: [] })
  })
})

describe('a value without a JSON form is a failure and does not throw:', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle

  test.each<[string, unknown, string]>([
    ['a function', () => 1, 'a function at the root'],
    ['a symbol inside', { a: { b: Symbol('x') } }, 'a symbol at "b"'],
    ['a cycle', circle, 'circular'],
    ['a stream', new Blob(['x']).stream(), 'a ReadableStream at the root'],
    ['a response', new Response('x'), 'a Response at the root'],
    ['a generator, which nobody runs', generate(), 'a Generator at the root'],
    ['an error', new Error('told to nobody'), 'a Error at the root'],
    ['what nobody has waited for', { a: Promise.resolve(1) }, 'a Promise at "a"'],
    ['a file inside', [new Blob(['x'])], 'a Blob at "0"'],
    ['a `toJSON` that throws', { toJSON: boom }, 'boom'],
    [
      'a getter that throws',
      {
        get a() {
          return boom()
        },
      },
      'boom',
    ],
    ['a `toJSON` of nothing', { toJSON: () => undefined }, 'undefined'],
    ['a proxy that throws', new Proxy({}, { ownKeys: boom }), 'boom'],
    [
      'bytes that cannot be read',
      content({ type: 'file', mediaType: 'x/y', data: Object.assign(new Blob([]), { arrayBuffer: boom }) }),
      'boom',
    ],
  ])('%s', async (_, value, detail) => {
    expect(await toOutcome(value)).toEqual({
      ok: false,
      error: {
        code: 'unserialisable',
        message: 'The tool returned a value that cannot be written as JSON.',
        detail: expect.stringContaining(detail),
      },
    })
  })
})

test('a result is written as Spring AI does in its compatibility mode', async () => {
  const textOf = async (value: unknown) => {
    const outcome = await toOutcome(value, 'spring-ai')
    return outcome.ok && outcome.content
  }
  const texts = [
    [undefined, '"Done"'],
    [null, 'null'],
    ['hot', '"hot"'],
    ['{"a":1}', '{"a":1}'],
    ['3 strings processed: [one]', '3 strings processed: [one]'],
    ['{"a":"}"} is all', '{"a":"}"} is all'],
    [' [1, [2]]!', ' [1, [2]]!'],
    ['"quoted" text', '"quoted" text'],
    ['true enough', 'true enough'],
    ['3rd place', '"3rd place"'],
    ['[1, 2', '"[1, 2"'],
    ['{a} is not JSON', '"{a} is not JSON"'],
    ['', '""'],
    [{ a: 1 }, '{"a":1}'],
  ] as const
  for (const [value, text] of texts) expect(await textOf(value)).toEqual([{ type: 'text', text }])
})
