import * as v from 'valibot'
import { expect } from 'vitest'
import { executeToolCalls } from '../../../src/loop.ts'
import { defineTool } from '../../../src/tool.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, parseWith, QUESTION } from '../scene.ts'
import { integer, misfit } from './scene.ts'

const person = v.object({ name: v.string() })
const UUID = '123e4567-e89b-12d3-a456-426614174000'

/** Schemas with defaults, what is told of each default, and what a tool gets for nothing where that is not the same. */
const DEFAULTS: readonly (readonly [schema: v.GenericSchema, told: unknown, got?: unknown])[] = [
  [v.optional(integer, 5), 5],
  [v.optional(v.number(), 1.5), 1.5],
  [v.optional(v.boolean(), true), true],
  [v.optional(v.bigint(), 7n), 7, 7n],
  [v.optional(v.string(), 'x'), 'x'],
  [v.optional(v.string(), ''), ''],
  [v.optional(v.picklist(['RED', 'BLUE']), 'RED'), 'RED'],
  [v.optional(v.pipe(v.string(), v.uuid()), UUID), UUID],
  [v.optional(v.array(v.string()), ['a', 'b']), ['a', 'b']],
  [v.optional(v.array(v.string()), []), []],
  [v.optional(v.set(v.string()), new Set(['a'])), ['a'], new Set(['a'])],
  [v.optional(v.map(v.string(), integer), new Map([['a', 1]])), { a: 1 }, new Map([['a', 1]])],
  [v.optional(v.record(v.string(), integer), {}), {}],
  [v.optional(person, { name: 'Ada' }), { name: 'Ada' }],
  [v.optional(v.array(person), [{ name: 'Ada' }]), [{ name: 'Ada' }]],
]

/** Rows 22 to 26: what stands for an argument that did not come. */
export const defaults: readonly Row[] = [
  {
    row: 22,
    says: 'a default of any type stands for what is missing or null',
    verdict: same(async () => {
      for (const [schema, schemaText, got = schemaText] of DEFAULTS) {
        const input = v.object({ it: schema })
        const { inputSchema } = await defineTool({ name: 't', description: 'T', input, run: () => '' }).describe()
        expect(inputSchema).toMatchObject({ properties: { it: { default: schemaText } }, required: [] })
        for (const args of [{}, { it: null }]) expect(await parseWith(input, args)).toEqual({ it: got })
      }
    }),
  },
  {
    row: 23,
    says: 'a tool that changes what it got changes no default',
    verdict: same(async () => {
      const input = v.object({
        list: v.optional(v.array(v.string()), ['a']),
        set: v.optional(v.set(v.string()), new Set(['a'])),
        map: v.optional(v.map(v.string(), v.string()), new Map([['a', 'b']])),
        person: v.optional(person, { name: 'Ada' }),
        people: v.optional(v.array(person), [{ name: 'Ada' }]),
      })
      const got = async () => {
        const inputs: unknown[] = []
        const run = (args: v.InferOutput<typeof input>) => {
          inputs.push(structuredClone(args))
          args.list.push('x')
          args.set.add('x')
          args.map.set('x', 'x')
          args.person.name = 'x'
          for (const each of args.people) each.name = 'x'
        }
        const tools = await carried(defineTool({ name: 'tool', description: 'Tool', input, run }))
        await executeToolCalls({ messages: [QUESTION], tools }, answerWithCalls(['tool'], ['tool']))
        return inputs
      }
      const [first, second] = await got()
      expect(second).toEqual(first)
      expect((await got())[0]).toEqual(first)
    }),
  },
  {
    row: 24,
    says: 'a default hides no error, and what was sent wins over it',
    verdict: same(async () => {
      const input = v.object({ it: v.optional(integer, 5) })
      expect(await parseWith(input, { it: 'many' })).toBe(misfit('it: expected number, received "many"'))
      expect(await parseWith(input, { it: 7 })).toEqual({ it: 7 })
    }),
  },
  {
    row: 25,
    says: 'null is passed for an object without a default',
    verdict: different(
      'to a schema that allows null; where the field may be left out, null leaves it out',
      async () => {
        expect(await parseWith(v.object({ it: v.nullish(person) }), { it: null })).toEqual({ it: null })
        expect(await parseWith(v.object({ it: v.optional(person) }), { it: null })).toEqual({})
      },
    ),
  },
  {
    row: 26,
    says: 'what has a default is not told to be required',
    verdict: same(() => {
      const input = v.object({ a: v.string(), b: v.optional(v.string(), 'x'), c: v.nullish(integer, 1) })
      const { outline } = defineTool({ name: 't', description: 'T', input, run: () => '' })
      expect(outline.inputSchema['required']).toEqual(['a'])
    }),
  },
]
