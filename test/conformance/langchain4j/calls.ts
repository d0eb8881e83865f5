import * as v from 'valibot'
import { expect } from 'vitest'
import { executeToolCalls } from '../../../src/loop.ts'
import { defineRawTool, defineTool, toolsOf } from '../../../src/tool.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, chat, parseWith, QUESTION, resultsIn } from '../scene.ts'
import { bits, COMPAT, integer, misfit, partsOf, THEIRS, throwing } from './scene.ts'

const count = v.object({ i: integer })

/** An exception without a message, as Workers have it: its stack begins with its name alone. */
function silent(Kind: new () => Error): Error {
  const error = new Kind()
  error.stack = `${error.name}\n    at run (tool.js:1:1)`
  return error
}

/** Rows 8 to 16: arguments that are missing or wrong, and tools of every form. */
export const calls: readonly Row[] = [
  {
    row: 8,
    says: 'arguments that are no JSON fail the request',
    verdict: different('the model reads what is wrong; under COMPAT=langchain4j the run fails with it', async () => {
      const scene = { script: [ask(['tool', '{ invalid JSON }']), say('Sorry')], tools: [tool('tool')] }
      const { requests } = await chat(scene)
      expect(resultsIn(requests[1]?.messages)[0]).toContain('The arguments of "tool" are not a JSON object: ')
      const { status, json, requests: asked } = await chat({ ...scene, vars: COMPAT })
      expect([status, json.error.code, asked.length]).toEqual([502, 'invalid_arguments', 1])
    }),
  },
  {
    row: 9,
    says: "the model reads a tool's exception: its message, or what it is called where it has none",
    verdict: different('an exception may hold secrets: that is so under COMPAT=langchain4j alone', async () => {
      const resultFor = async (error: unknown, compat?: typeof THEIRS) => {
        const { results } = await executeToolCalls(
          { messages: [QUESTION], tools: [await throwing(error)], ...(compat && { request: { compat } }) },
          answerWithCalls(['broken']),
        )
        return resultsIn(results)
      }
      expect(await resultFor(new Error('No such city'))).toEqual(['The tool "broken" failed.'])
      expect(await resultFor(new Error('No such city'), THEIRS)).toEqual(['No such city'])
      expect(await resultFor(new Error('Two\nlines'), THEIRS)).toEqual(['Two\nlines'])
      expect(await resultFor(silent(TypeError), THEIRS)).toEqual(['TypeError'])
    }),
  },
  {
    row: 10,
    says: 'an optional argument is there or not',
    verdict: same(async () => {
      const input = v.object({ a: v.string(), b: v.optional(v.string()) })
      expect(await parseWith(input, { a: 'x', b: 'y' })).toEqual({ a: 'x', b: 'y' })
      for (const args of [{ a: 'x' }, { a: 'x', b: null }]) expect(await parseWith(input, args)).toEqual({ a: 'x' })
    }),
  },
  {
    row: 11,
    says: 'a number that is missing fails the request, and says which',
    verdict: different('the model reads which; under COMPAT=langchain4j the run fails with it', async () => {
      expect(await parseWith(count, {})).toBe(misfit('i: is required (integer)'))
      const tools = await carried(defineTool({ name: 'tool', description: 'Tool', input: count, run: () => 'never' }))
      const { status, json } = await chat({ script: [ask(['tool'])], tools, vars: COMPAT })
      expect([status, json.error.code, json.error.message]).toEqual([
        502,
        'invalid_arguments',
        misfit('i: is required (integer)'),
      ])
    }),
  },
  {
    row: 12,
    says: 'a method that is not there is said to be missing when it is called',
    verdict: different('it is said when the Worker starts', () => {
      const target: { add?: () => number } = {}
      // @ts-expect-error The types know it too.
      expect(() => toolsOf(target, { add: { description: 'Adds', input: v.object({}) } })).toThrow(
        new TypeError('toolsOf: "add" is not a method of the object'),
      )
    }),
  },
  {
    row: 13,
    says: 'a text that is missing is passed as null',
    verdict: different('what the schema requires is asked for again; COMPAT=langchain4j passes null', async () => {
      expect(await parseWith(v.object({ s: v.string() }), {})).toBe(misfit('s: is required (string)'))
      expect(await parseWith(v.object({ s: v.optional(v.string()) }), {})).toEqual({})
      expect(await parseWith(v.object({ s: v.string() }), {}, { compat: THEIRS })).toEqual({ s: null })
    }),
  },
  {
    row: 14,
    says: '2 and 2.0 are numbers of every type, 2.1 of those with fractions, and none beyond its bounds',
    verdict: same(async () => {
      const integers = [integer, bits(8), bits(16), bits(32)]
      for (const schema of [v.number(), ...integers]) {
        for (const text of ['2', '2.0', '"2"', '"2.0"']) {
          expect(await parseWith(v.object({ it: schema }), `{"it":${text}}`)).toEqual({ it: 2 })
        }
      }
      expect(await parseWith(v.object({ it: v.bigint() }), '{"it":2.0}')).toEqual({ it: 2n })
      expect(await parseWith(v.object({ it: v.number() }), { it: 2.1 })).toEqual({ it: 2.1 })
      for (const schema of [...integers, v.bigint()]) {
        expect(await parseWith(v.object({ it: schema }), { it: 2.1 })).toContain('received 2.1')
      }
      expect(await parseWith(v.object({ it: bits(8) }), { it: 128 })).toBe(misfit('it: expected <=127, received 128'))
      expect(await parseWith(v.object({ it: v.number() }), '{"it":1e400}')).toContain('- it: expected number')
    }),
  },
  {
    row: 15,
    says: 'a decimal keeps its scale: 2 and 2.0 are told apart',
    verdict: different('a JSON number has no scale; digits that count are asked for as text, and kept', async () => {
      const decimal = v.object({ it: v.pipe(v.string(), v.decimal()) })
      for (const text of ['2', '2.0', '0.10', '12345678901234567890.10']) {
        expect(await parseWith(decimal, { it: text })).toEqual({ it: text })
      }
      expect(await parseWith(decimal, '{"it":2}')).toEqual({ it: '2' })
    }),
  },
  {
    row: 16,
    says: 'a constant may be null, and every form of tool gets its arguments and its context',
    verdict: same(async () => {
      expect(await parseWith(v.object({ it: v.nullable(v.picklist(['A'])) }), { it: null })).toEqual({ it: null })
      const input = v.object({ n: v.number() })
      class Sums {
        add({ n }: { n: number }, { runId }: { runId: string }) {
          return `add ${n} ${runId}`
        }
      }
      const schema = { type: 'object', properties: { n: { type: 'number' } } }
      const tools = await carried(
        defineTool({ name: 'a', description: 'A', input, run: ({ n }, { runId }) => `a ${n} ${runId}` }),
        ...toolsOf(new Sums(), { add: { description: 'Adds', input } }),
        defineRawTool({ name: 'raw', inputSchema: schema }, (args, { runId }) => `${JSON.stringify(args)} ${runId}`),
      )
      const options = { messages: [QUESTION], tools, request: { runId: 'run_1' } }
      const { results } = await executeToolCalls(
        options,
        answerWithCalls(['a', { n: 1 }], ['add', { n: 2 }], ['raw', { n: 3 }]),
      )
      expect(resultsIn(results)).toEqual(['a 1 run_1', 'add 2 run_1', '{"n":3} run_1'])
      expect((await partsOf((_, { runId }) => runId.slice(0, 4)))?.content).toEqual([{ type: 'text', text: 'run_' }])
    }),
  },
]
