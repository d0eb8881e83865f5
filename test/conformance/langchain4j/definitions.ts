import * as v from 'valibot'
import { expect } from 'vitest'
import { defineTool, toolsOf } from '../../../src/tool.ts'
import { inlineSource } from '../../../src/host/source/inline.ts'
import { different, type Row, same } from '../rows.ts'
import { parseWith } from '../scene.ts'
import { integer } from './scene.ts'

const none = v.object({})
const run = () => ''

function schemaOf(input: v.GenericSchema) {
  return defineTool({ name: 't', description: 'T', input, run }).outline.inputSchema
}

class Account {
  balance() {
    return 'balance'
  }
  owner() {
    return 'somebody'
  }
}

/** Rows 27 to 31: what is noticed when a tool is defined, and the schema that it has. */
export const definitions: readonly Row[] = [
  {
    row: 27,
    says: 'a class, an object without tools, and a list in a list are refused when they are registered',
    verdict: different(
      'methods are named, so that an object without any has none; of lists the types know',
      async () => {
        const options = { balance: { description: 'Tells', input: none } }
        // @ts-expect-error The types know it too.
        expect(() => toolsOf(Account, options)).toThrow(
          new TypeError('toolsOf expects an object or an instance of a class, received the class or function Account'),
        )
        expect(toolsOf({}, {})).toEqual([])
        const one = defineTool({ name: 'one', description: 'One', input: none, run })
        // @ts-expect-error A tool was expected.
        const nested: Parameters<typeof inlineSource>[0] = [[one]]
        await expect(inlineSource(nested, { env: {} }).list()).rejects.toThrow(TypeError)
      },
    ),
  },
  {
    row: 28,
    says: 'a number that may be left out needs a default',
    verdict: different('nothing is a value of its own here, and the types hold the tool to it', async () => {
      expect(await parseWith(v.object({ i: v.optional(integer) }), {})).toEqual({})
      expect(await parseWith(v.object({ i: v.optional(integer, 3) }), {})).toEqual({ i: 3 })
    }),
  },
  {
    row: 29,
    says: 'a default that is no value of its type is refused when the tool is registered, with the name of its field',
    verdict: different(
      'the compiler refuses it; one that breaks a bound is told with the name of its field',
      async () => {
        // @ts-expect-error A number was expected.
        const text = v.object({ i: v.optional(integer, 'abc') })
        // @ts-expect-error A boolean was expected.
        const yes = v.object({ i: v.optional(v.boolean(), 'yes') })
        // @ts-expect-error One of the list was expected.
        const color = v.object({ i: v.optional(v.picklist(['RED']), 'GREEN') })
        const large = v.object({ i: v.optional(v.pipe(integer, v.maxValue(127)), 300) })
        const uuid = v.object({ i: v.optional(v.pipe(v.string(), v.uuid()), 'nope') })
        for (const input of [text, yes, color, large, uuid]) expect(await parseWith(input, {})).toContain('- i: ')
      },
    ),
  },
  {
    row: 30,
    says: 'types of every kind have their schema, each field its own description, and no reference for what comes twice',
    verdict: same(() => {
      const person = v.object({ name: v.string(), age: v.optional(integer) })
      const input = v.object({
        text: v.pipe(v.string(), v.description('Some text')),
        whole: integer,
        real: v.number(),
        flag: v.boolean(),
        color: v.picklist(['RED', 'BLUE']),
        uuid: v.pipe(v.string(), v.uuid()),
        list: v.array(v.array(v.string())),
        map: v.record(v.string(), v.number()),
        first: v.pipe(person, v.description('The first')),
        second: v.pipe(person, v.description('The second')),
        when: v.date(),
      })
      const object = {
        type: 'object',
        properties: { name: { type: 'string' }, age: { type: 'integer' } },
        required: ['name'],
      }
      expect(schemaOf(input)).toEqual({
        type: 'object',
        properties: {
          text: { type: 'string', description: 'Some text' },
          whole: { type: 'integer' },
          real: { type: 'number' },
          flag: { type: 'boolean' },
          color: { type: 'string', enum: ['RED', 'BLUE'] },
          uuid: { type: 'string', format: 'uuid' },
          list: { type: 'array', items: { type: 'array', items: { type: 'string' } } },
          map: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
          first: { ...object, description: 'The first' },
          second: { ...object, description: 'The second' },
          when: { type: 'string', format: 'date-time' },
        },
        required: Object.keys(input.entries),
      })
    }),
  },
  {
    row: 31,
    says: 'two tools of one name are refused',
    verdict: same(() => {
      const one = { description: 'One', input: none }
      const tools = toolsOf(new Account(), { balance: { ...one, name: 'same' }, owner: { ...one, name: 'same' } })
      expect(() => inlineSource(tools, { env: {} })).toThrow(new TypeError('Two tools here are named "same"'))
      const alone = defineTool({ ...one, name: 'same', run })
      expect(() => inlineSource([...tools.slice(0, 1), alone], { env: {} })).toThrow(TypeError)
    }),
  },
]
