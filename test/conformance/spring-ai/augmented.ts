import * as v from 'valibot'
import { expect } from 'vitest'
import type { DefinedTool } from '../../../src/tool.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { augment, defineTool, toolDefinitions } from '../../../src/tool.ts'
import { inlineSource } from '../../../src/host/source/inline.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, QUESTION, resultsIn } from '../scene.ts'

const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather.',
  input: v.object({ city: v.pipe(v.string(), v.description('Its name.')) }),
  annotations: { readOnly: true },
  returnDirect: 'always',
  run: (args, { values }) => JSON.stringify([args, values]),
})

const fields = v.object({
  thought: v.pipe(v.string(), v.description('Why you ask.')),
  mood: v.optional(v.string()),
})

const ARGS = { city: 'Rome', thought: 'They travel.', mood: 'calm' }

/** What a call of the tool came to. */
async function callTool(tool: DefinedTool, args: object = ARGS, context = {}) {
  const executed = await executeToolCalls(
    { messages: [QUESTION], tools: await carried(tool), context },
    answerWithCalls([tool.name, args]),
  )
  return { result: resultsIn(executed.results)[0], returnDirect: executed.returnDirect }
}

/** Rows 103 to 108: further arguments for tools that exist. */
export const augmented: readonly Row[] = [
  {
    row: 103,
    says: 'there is a tool to add to, and fields to add',
    verdict: different('types say so; a field that the tool has already is refused, not overwritten', async () => {
      const clash = v.object({ city: v.number() })
      expect(() => augment(weather, { fields: clash, read: () => {} })).toThrow(
        new TypeError('augment: the tool "weather" has a field "city" of its own'),
      )
      const none = augment(weather, { fields: v.object({}), read: () => {} })
      expect(none.outline.inputSchema).toEqual(weather.outline.inputSchema)
      // @ts-expect-error There is no tool.
      expect(() => augment(undefined, { fields, read: () => {} })).toThrow(TypeError)
    }),
  },
  {
    row: 104,
    says: 'the fields join the schema, those required too, and all else of the tool stays',
    verdict: same(async () => {
      const { outline } = augment(weather, { fields, read: () => {} })
      expect(outline).toEqual({
        ...weather.outline,
        inputSchema: {
          type: 'object',
          properties: {
            city: { type: 'string', description: 'Its name.' },
            thought: { type: 'string', description: 'Why you ask.' },
            mood: { type: 'string' },
          },
          required: ['city', 'thought'],
        },
      })
      // Theirs loses this.
      expect((await callTool(augment(weather, { fields, read: () => {} }))).returnDirect).toBe(true)
    }),
  },
  {
    row: 105,
    says: 'the tool gets its own arguments, or the fields with them, and its context',
    verdict: same(async () => {
      const context = { user: 'Ada' }
      const without = await callTool(augment(weather, { fields, read: () => {} }), ARGS, context)
      expect(without.result).toBe('[{"city":"Rome"},{"user":"Ada"}]')
      const loose = defineTool({
        name: 'loose',
        description: 'Takes anything.',
        input: v.looseObject({}),
        run: (args) => args,
      })
      // A tool that takes any field: what it does not get, `augment` has taken away.
      const received = async (keep: boolean) => {
        const { result = '' } = await callTool(augment(loose, { fields, read: () => {}, keep }))
        return JSON.parse(result) as unknown
      }
      expect(await received(false)).toEqual({ city: 'Rome' })
      expect(await received(true)).toEqual(ARGS)
    }),
  },
  {
    row: 106,
    says: 'who reads the fields gets them as values, with the call as it was sent',
    verdict: same(async () => {
      const inputs: unknown[] = []
      const tool = augment(weather, {
        fields: v.object({ sure: v.number() }),
        read: ({ definition, rawInput, fields: { sure }, context }) => {
          inputs.push([definition.name, rawInput, sure + 1, context.callId])
        },
      })
      await callTool(tool, { city: 'Rome', sure: '9' })
      expect(inputs).toEqual([['weather', { city: 'Rome', sure: '9' }, 10, 'call_1']])
    }),
  },
  {
    row: 107,
    says: 'it is said what is added to: a tool, or objects of tools, and never neither or both',
    verdict: different('one function adds to a tool, to several, or to a whole source', async () => {
      const augmentation = { fields, read: () => {} }
      const fieldsOf = async (source: Parameters<typeof toolDefinitions>[0]) =>
        (await toolDefinitions(source)).map(({ inputSchema }) => inputSchema['required'])
      const source = inlineSource([weather], { env: {} })
      expect(await fieldsOf(augment(weather, augmentation))).toEqual([['city', 'thought']])
      expect(await fieldsOf(augment([weather], augmentation))).toEqual([['city', 'thought']])
      expect(await fieldsOf(augment(source, augmentation))).toEqual([['city', 'thought']])
    }),
  },
  {
    row: 108,
    says: 'a field of which nothing is said has a description that says so, and is optional',
    verdict: different('no description is better than one that says nothing; optional is what v.optional says', () => {
      const { outline } = augment(weather, { fields: v.object({ thought: v.string() }), read: () => {} })
      expect(outline.inputSchema).toMatchObject({
        properties: { thought: { type: 'string' } },
        required: ['city', 'thought'],
      })
    }),
  },
]
