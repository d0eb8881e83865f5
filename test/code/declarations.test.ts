import { describe, expect, test } from 'vitest'
import { declarationsOf } from '../../src/code/declarations.ts'
import type { JsonSchema } from '../../src/contract/json.ts'

describe('declarations', () => {
  test('have the types of all kinds of schemas, and descriptions as comments', () => {
    const inputSchema = {
      type: 'object',
      $defs: { money: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } },
      properties: {
        who: { type: 'string', description: 'A person, */ or a team' },
        kind: { enum: ['a', 1, null] },
        fixed: { const: true },
        price: { $ref: '#/$defs/money' },
        tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
        both: { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { $ref: '#/$defs/money' }] },
        maybe: { type: ['string', 'null'] },
        more: { type: 'object', additionalProperties: { type: 'boolean' } },
        'a-b': {},
      },
      required: ['who'],
    }
    const outputSchema = { type: 'array', items: { type: 'string' } }
    expect(declarationsOf([{ name: 'pay-out', description: 'Pays.\nSoon.', inputSchema, outputSchema }])).toBe(
      `type money = {
  amount: number
}
declare const tools: {
  /** Pays. Soon. */
  "pay-out"(input: {
    /** A person, * / or a team */
    who: string
    kind?: "a" | 1 | null
    fixed?: true
    price?: money
    tags?: (string | number)[]
    pair?: [string, number]
    both?: {
      a?: string
    } & money
    maybe?: string | null
    more?: {
      [name: string]: boolean
    }
    "a-b"?: unknown
  }): Promise<string[]>
}`,
    )
  })

  test('has the examples of a tool in its comment', () => {
    const inputSchema = { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] }
    const inputExamples = [{ day: 'today' }, { day: '2026-03-01' }]
    expect(declarationsOf([{ name: 'book', description: 'Books.', inputSchema, inputExamples }])).toBe(
      `declare const tools: {
  /** Books. Examples of arguments: {"day":"today"} {"day":"2026-03-01"} */
  book(input: {
    day: string
  }): Promise<any>
}`,
    )
  })

  const object = (properties: JsonSchema, $defs: JsonSchema = {}): JsonSchema => ({ type: 'object', properties, $defs })

  test('name a schema that others refer to, print it once, and write a short one in its place', () => {
    const $defs = {
      Node: object({ next: { $ref: '#/$defs/Node' }, root: { $ref: '#' }, id: { $ref: '#/$defs/id' } }),
      id: { type: 'string' },
      'a b': { $ref: '#/$defs/Node' },
      string: object({ x: { type: 'number' } }),
    }
    const inputSchema = object(
      {
        a: { $ref: '#/$defs/Node' },
        b: { $ref: '#/$defs/a%20b' },
        c: { $ref: '#/$defs/string' },
        d: { $ref: '#/$defs/%zz' },
        e: { $ref: 'https://example.com/schema' },
      },
      $defs,
    )
    expect(declarationsOf([{ name: 'walk', description: '', inputSchema }])).toBe(`type Node = {
  next?: Node
  root?: Root
  id?: string
}
type a_20b = Node
type Tstring = {
  x?: number
}
type Root = {
  a?: Node
  b?: a_20b
  c?: Tstring
  d?: unknown
  e?: unknown
}
declare const tools: {
  walk(input?: {
    a?: Node
    b?: a_20b
    c?: Tstring
    d?: unknown
    e?: unknown
  }): Promise<any>
}`)
  })

  test('share a type that tools have in common, and rename one that has the name of another', () => {
    const item = (type: string) => ({ Item: object({ id: { type } }) })
    const pointer = { item: { $ref: '#/$defs/Item' } }
    const tools = ['string', 'string', 'number'].map((type, index) => ({
      name: `tool${index}`,
      description: '',
      inputSchema: object(pointer, item(type)),
    }))
    expect(declarationsOf(tools)).toBe(`type Item = {
  id?: string
}
type Item$1 = {
  id?: number
}
declare const tools: {
  tool0(input?: {
    item?: Item
  }): Promise<any>
  tool1(input?: {
    item?: Item
  }): Promise<any>
  tool2(input?: {
    item?: Item$1
  }): Promise<any>
}`)
  })

  test('stay about as long as their schemas, however these fan out', () => {
    const defs = (count: number, schemaOf: (next: JsonSchema) => JsonSchema) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`d${index}`, schemaOf({ $ref: `#/$defs/d${index + 1}` })]),
      )
    const many = (each: JsonSchema) => Array.from({ length: 9 }, () => each)
    const forms: readonly ((next: JsonSchema) => JsonSchema)[] = [
      (next) => object(Object.fromEntries(many(next).map((each, index) => [`p${index}`, each]))),
      (next) => ({ anyOf: many(next).map((each) => object({ each })) }),
      (next) => ({ allOf: many(next) }),
      (next) => ({ type: 'array', prefixItems: many(next) }),
      (next) => ({ type: 'array', items: object({ a: next, b: next }) }),
      (next) => ({ type: ['object', 'array', 'null', 'object'], properties: { a: next }, items: next }),
      (next) => ({ type: 'object', additionalProperties: object({ a: next, b: next }) }),
    ]
    for (const form of forms) {
      const inputSchema = object({ start: { $ref: '#/$defs/d0' } }, defs(200, form))
      const text = declarationsOf([{ name: 'fan', description: '', inputSchema }])
      expect(text.length).toBeLessThan(2 * JSON.stringify(inputSchema).length)
    }
  })

  test('tell less of a tool that takes more than its room, down to its name', () => {
    const field = { type: 'string', description: 'Something about the field. '.repeat(5) }
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`field${at}`, field]))
    const tools = [3, 30, 30_000].map((count) => {
      const inputSchema = object({ ...fields(count), nested: object(fields(count)) })
      return { name: 'n'.repeat(64), description: 'Does it. '.repeat(500), inputSchema }
    })
    const declare = (room: number) => tools.map((tool) => declarationsOf([tool], { tool: room, all: 24_000 }))
    expect(declare(1000).every((text) => text.length <= 1000)).toBe(true)
    expect(declare(1000).map((text) => text.match(/field\d+\?: string/g)?.length)).toEqual([6, 24, 24])
    expect(declare(600).map((text) => text.match(/field\d+\?: string/g)?.length)).toEqual([3, 8, 8])
    const note = `Shortened: \`await tools.$describe("${'n'.repeat(64)}")\` tells all of it. */`
    expect(declare(300).every((text) => text.length <= 500 && text.includes(note))).toBe(true)
  })
})
