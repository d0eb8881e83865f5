import * as v from 'valibot'
import { expect } from 'vitest'
import { type Row, same } from '../rows.ts'
import { parseWith } from '../scene.ts'
import { integer, misfit } from './scene.ts'

interface Tree {
  readonly value: string
  readonly children?: readonly Tree[] | undefined
}

const tree: v.GenericSchema<Tree> = v.object({
  value: v.string(),
  children: v.optional(v.lazy(() => v.array(tree))),
})

const animal = v.variant('type', [
  v.object({ type: v.literal('Dog'), barks: v.number() }),
  v.object({ type: v.literal('Cat'), lives: v.number() }),
])

/** Rows 46 to 48: arguments of every kind. */
export const kinds: readonly Row[] = [
  {
    row: 46,
    says: 'arguments of every kind reach the tool: plain, nested, recursive, none, listed, mapped',
    verdict: same(async () => {
      const uuid = '123e4567-e89b-12d3-a456-426614174000'
      const person = v.object({ name: v.string(), address: v.object({ city: v.string() }) })
      const kinds: readonly (readonly [v.GenericSchema, unknown, unknown?])[] = [
        [integer, 7],
        [v.number(), 7.5],
        [v.boolean(), true],
        [v.string(), 'x'],
        [person, { name: 'Ada', address: { city: 'London' } }],
        [tree, { value: 'a', children: [{ value: 'b', children: [] }, { value: 'c' }] }],
        [v.picklist(['RED', 'BLUE']), 'BLUE'],
        [v.record(v.string(), integer), { a: 1, b: 2 }],
        [v.array(v.string()), ['a', 'b']],
        [v.set(v.string()), ['a', 'b'], new Set(['a', 'b'])],
        [v.array(person), [{ name: 'Ada', address: { city: 'London' } }]],
        [v.pipe(v.string(), v.uuid()), uuid],
      ]
      for (const [schema, value, got = value] of kinds) {
        expect(await parseWith(v.object({ it: schema }), { it: value })).toEqual({ it: got })
      }
      expect(await parseWith(v.object({}), '')).toEqual({})
    }),
  },
  {
    row: 47,
    says: 'what may be left out may be: an argument, a field of an object, a list; a number that is required may not',
    verdict: same(async () => {
      const input = v.object({
        a: v.optional(v.string()),
        person: v.object({ name: v.string(), age: v.optional(integer) }),
        list: v.optional(v.array(v.string())),
        n: integer,
      })
      const least = { person: { name: 'Ada' }, n: 1 }
      expect(await parseWith(input, least)).toEqual(least)
      expect(await parseWith(input, { ...least, a: null, list: null, person: { name: 'Ada', age: null } })).toEqual(
        least,
      )
      expect(await parseWith(input, { person: { name: 'Ada' } })).toBe(misfit('n: is required (integer)'))
    }),
  },
  {
    row: 48,
    says: 'one of several kinds of object, alone, in a list and nested, is told by its type',
    verdict: same(async () => {
      const [dog, cat] = [
        { type: 'Dog', barks: 2 },
        { type: 'Cat', lives: 9 },
      ]
      expect(await parseWith(v.object({ it: animal }), { it: dog })).toEqual({ it: dog })
      expect(await parseWith(v.object({ it: v.array(animal) }), { it: [dog, cat] })).toEqual({ it: [dog, cat] })
      expect(await parseWith(v.object({ it: v.object({ pet: animal }) }), { it: { pet: cat } })).toEqual({
        it: { pet: cat },
      })
      expect(await parseWith(v.object({ it: animal }), { it: { ...dog, barks: '2' } })).toEqual({ it: dog })
      expect(await parseWith(v.object({ it: animal }), { it: { type: 'Fish' } })).toContain('- it.type: ')
    }),
  },
]
