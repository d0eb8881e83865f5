import * as v from 'valibot'
import { expect } from 'vitest'
import { executeToolCalls } from '../../../src/loop.ts'
import { defineTool } from '../../../src/tool.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, parseWith, QUESTION, resultsIn } from '../scene.ts'
import { bits, integer, misfit, THEIRS } from './scene.ts'

const count = v.object({ i: integer })

/** Rows 1 to 7: arguments as values of their types. */
export const values: readonly Row[] = [
  {
    row: 1,
    says: 'numbers arrive as the type that is asked for, and the conversation beside them; what is no number is named',
    verdict: different('the words are those of the schema, and the model reads them', async () => {
      const inputs: unknown[] = []
      const input = v.object({ count: integer, ratio: v.number(), list: v.array(integer) })
      const tools = await carried(
        defineTool({
          name: 'tool',
          description: 'Tool',
          input,
          run: (args, { conversationId }) => inputs.push([args, conversationId]),
        }),
      )
      await executeToolCalls(
        { messages: [QUESTION], tools, request: { conversation: 'conv_1' } },
        answerWithCalls(['tool', '{"count":1.0,"ratio":"1.1","list":[1.0]}']),
      )
      expect(inputs).toEqual([[{ count: 1, ratio: 1.1, list: [1] }, 'conv_1']])
      expect(await parseWith(count, { i: 'abc' })).toBe(misfit('i: expected number, received "abc"'))
    }),
  },
  {
    row: 2,
    says: 'objects, constants and bounded numbers are taken as what they are, and "true" is no boolean',
    verdict: different('the text "true" can mean nothing else', async () => {
      const person = v.object({ person: v.object({ name: v.string(), age: integer }) })
      expect(await parseWith(person, { person: { name: 'Klaus', age: 42 } })).toEqual({
        person: { name: 'Klaus', age: 42 },
      })
      expect(await parseWith(v.object({ it: v.picklist(['RED', 'BLUE']) }), { it: 'RED' })).toEqual({ it: 'RED' })
      expect(await parseWith(v.object({ it: v.boolean() }), { it: 'true' })).toEqual({ it: true })
      for (const value of [1, 0, 'yes']) {
        expect(await parseWith(v.object({ it: v.boolean() }), { it: value })).toBe(
          misfit(`it: expected boolean, received ${JSON.stringify(value)}`),
        )
      }
      for (const [size, most] of [
        [8, 127],
        [16, 32_767],
        [32, 2_147_483_647],
      ] as const) {
        const schema = v.object({ it: bits(size) })
        expect(await parseWith(schema, { it: most })).toEqual({ it: most })
        expect(await parseWith(schema, { it: -most - 1 })).toEqual({ it: -most - 1 })
        expect(await parseWith(schema, { it: most + 1 })).toBe(misfit(`it: expected <=${most}, received ${most + 1}`))
      }
      expect(await parseWith(v.object({ it: v.bigint() }), { it: 'many' })).toBe(
        misfit('it: expected integer, received "many"'),
      )
    }),
  },
  {
    row: 3,
    says: 'large integers and decimals keep all their digits',
    verdict: same(async () => {
      const big = v.object({ it: v.bigint() })
      expect(await parseWith(big, '{"it":9007199254740993}')).toEqual({ it: 9_007_199_254_740_993n })
      expect(await parseWith(big, '{"it":9223372036854775808}')).toEqual({ it: 9_223_372_036_854_775_808n })
      expect(await parseWith(v.object({ it: v.number() }), '{"it":0.1}')).toEqual({ it: 0.1 })
      // No integer becomes the next one that a number can hold.
      expect(await parseWith(v.object({ it: integer }), '{"it":9007199254740993}')).toBe(
        misfit(
          'it: expected number, received 9007199254740993, which has too many digits for this tool: it would become another number. Do not round it. Send it as text where a tool takes a string, or say that it cannot be sent.',
        ),
      )
    }),
  },
  {
    row: 4,
    says: 'a fraction is no integer, for any size of integer',
    verdict: same(async () => {
      for (const schema of [integer, bits(8), bits(16), bits(32)]) {
        expect(await parseWith(v.object({ it: schema }), { it: 1.5 })).toContain('- it: ')
      }
      expect(await parseWith(v.object({ it: v.bigint() }), { it: 1.5 })).toBe(
        misfit('it: expected integer, received 1.5'),
      )
    }),
  },
  {
    row: 5,
    says: 'constants are matched in any case, whatever language the machine speaks',
    verdict: same(async () => {
      const title = v.object({ it: v.picklist(['TITLE', 'İÇİN']) })
      expect(await parseWith(title, { it: 'title' })).toEqual({ it: 'TITLE' })
      expect(await parseWith(title, { it: 'tıtle' })).toContain('- it: ')
    }),
  },
  {
    row: 6,
    says: 'an object that is null or absent is passed as null',
    verdict: different('only a schema that allows null gets it; COMPAT=langchain4j passes null anyhow', async () => {
      const it = v.object({ a: v.string() })
      expect(await parseWith(v.object({ it: v.nullable(it) }), { it: null })).toEqual({ it: null })
      expect(await parseWith(v.object({ it: v.nullish(it) }), {})).toEqual({})
      expect(await parseWith(v.object({ it }), { it: null })).toBe(misfit('it: expected Object, received null'))
      for (const args of [{}, { it: null }])
        expect(await parseWith(v.object({ it }), args, { compat: THEIRS })).toEqual({ it: null })
    }),
  },
  {
    row: 7,
    says: 'objects, lists, sets, maps and lists of objects come in, and go out as JSON',
    verdict: same(async () => {
      const person = v.object({ name: v.string() })
      const input = v.object({
        one: person,
        list: v.array(v.string()),
        set: v.set(v.string()),
        map: v.map(v.string(), integer),
        people: v.array(person),
      })
      const kinds: unknown[] = []
      const tools = await carried(
        defineTool({
          name: 'tool',
          description: 'Tool',
          input,
          run: (args) => {
            kinds.push(args.set instanceof Set, args.map instanceof Map)
            return args
          },
        }),
      )
      const args = { one: { name: 'a' }, list: ['b'], set: ['c', 'd'], map: { e: 1 }, people: [{ name: 'f' }] }
      const { results } = await executeToolCalls({ messages: [QUESTION], tools }, answerWithCalls(['tool', args]))
      expect([kinds, resultsIn(results)]).toEqual([[true, true], [JSON.stringify(args)]])
    }),
  },
]
