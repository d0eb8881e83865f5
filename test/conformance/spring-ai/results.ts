import * as v from 'valibot'
import { expect } from 'vitest'
import type { Compat } from '../../../src/contract/run-options.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { content, defineTool } from '../../../src/tool.ts'
import { different, type Row, same } from '../rows.ts'
import { ask, say } from '../../fixtures/play.ts'
import { answerWithCalls, carried, chat, native, parseWith, QUESTION, resultsIn } from '../scene.ts'

/** What a model reads of what a tool returned. */
async function messagesOf(value: unknown, compat?: Compat): Promise<string | undefined> {
  const tools = await carried(defineTool({ name: 'tool', description: 'Tool', input: v.object({}), run: () => value }))
  const request = compat && { compat }
  const { results } = await executeToolCalls(
    { messages: [QUESTION], tools, ...(request && { request }) },
    answerWithCalls(['tool']),
  )
  return resultsIn(results)[0]
}

const missing = (place: string) => `The arguments of "add" do not fit:\n- ${place}\nCorrect them and call again.`

const theirs = (value: unknown) => messagesOf(value, 'spring-ai')

/** Rows 72 to 80: results as texts, and arguments as values. */
export const results: readonly Row[] = [
  {
    row: 72,
    says: 'null is told as null',
    verdict: same(async () => {
      expect([await messagesOf(null), await theirs(null)]).toEqual(['null', 'null'])
    }),
  },
  {
    row: 73,
    says: 'nothing is told as done',
    verdict: same(async () => {
      expect([await messagesOf(undefined), await theirs(undefined)]).toEqual(['Success', '"Done"'])
    }),
  },
  {
    row: 74,
    says: 'a text is told in quotes, with what is special in it escaped',
    verdict: different('a text is a text: quoted only under COMPAT=spring-ai', async () => {
      const text = 'a "b"\n\\c'
      expect([await messagesOf('test'), await messagesOf(text)]).toEqual(['test', text])
      expect([await theirs('test'), await theirs(text)]).toEqual(['"test"', JSON.stringify(text)])
      expect([await theirs('{"a":1}'), await theirs('[1]')]).toEqual(['{"a":1}', '[1]'])
    }),
  },
  {
    row: 75,
    says: 'objects and lists are told as JSON, empty ones too',
    verdict: same(async () => {
      const values: [unknown, string][] = [
        [['a', 'b'], '["a","b"]'],
        [{ city: 'Rome', at: null }, '{"city":"Rome","at":null}'],
        [new Map([['a', 1]]), '{"a":1}'],
        [[], '[]'],
        [{}, '{}'],
        [new Map(), '{}'],
      ]
      for (const [value, text] of values) expect([await messagesOf(value), await theirs(value)]).toEqual([text, text])
    }),
  },
  {
    row: 76,
    says: 'an image is told as its bytes, with their type',
    verdict: different('it is a part of its own, which models see, and not JSON that they read', async () => {
      const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47])
      const run = () => content(new Blob([png], { type: 'image/png' }))
      const tools = await carried(defineTool({ name: 'draw', description: 'Draws', input: v.object({}), run }))
      const executed = await executeToolCalls({ messages: [QUESTION], tools }, answerWithCalls(['draw']))
      expect(executed.results[0]?.content).toEqual([
        { type: 'image', mediaType: 'image/png', data: Buffer.from(png).toString('base64') },
      ])
    }),
  },
  {
    row: 77,
    says: 'a text that begins like JSON is told as it is',
    verdict: same(async () => {
      const number = '3 strings processed: [one, two, three]'
      const word = 'Object processed: {}'
      expect([await messagesOf(number), await messagesOf(word)]).toEqual([number, word])
      const tools = await carried(
        defineTool({ name: 'number', description: 'Number', input: v.object({}), run: () => number }),
        defineTool({ name: 'word', description: 'Word', input: v.object({}), run: () => word }),
      )
      const script = [ask(['number'], ['word']), say('ok')]
      const { requests } = await chat({ script, tools, vars: { COMPAT: 'spring-ai' } })
      expect(resultsIn(requests[1]?.messages)).toEqual([number, `"${word}"`])
    }),
  },
  {
    row: 78,
    says: 'maps, lists of maps and anything at all arrive as values of their types',
    verdict: same(async () => {
      const map = v.object({ counts: v.record(v.string(), v.number()) })
      expect(await parseWith(map, { counts: { a: 1, b: '2' } })).toEqual({ counts: { a: 1, b: 2 } })
      const list = v.object({ rows: v.array(v.record(v.string(), v.number())) })
      expect(await parseWith(list, { rows: [{ a: 1 }, { b: 2 }] })).toEqual({ rows: [{ a: 1 }, { b: 2 }] })
      const real = v.object({ counts: v.map(v.string(), v.number()) })
      expect(await parseWith(real, { counts: { a: 1 } })).toEqual({ counts: new Map([['a', 1]]) })
      const any = v.object({ it: v.unknown() })
      expect(await parseWith(any, { it: { deep: [1, 'a'] } })).toEqual({ it: { deep: [1, 'a'] } })
    }),
  },
  {
    row: 79,
    says: 'the tool context reaches the tool',
    verdict: same(async () => {
      const tools = await carried(
        defineTool({ name: 'who', description: 'Who', input: v.object({}), run: (_, { values }) => values }),
      )
      const executed = await executeToolCalls(
        { messages: [QUESTION], tools, context: { user: { name: 'Ada' } } },
        answerWithCalls(['who']),
      )
      expect(resultsIn(executed.results)).toEqual(['{"user":{"name":"Ada"}}'])
    }),
  },
  {
    row: 80,
    says: 'arguments of a wrong type, or that are no JSON, are told to the model',
    verdict: different(
      'in words that say where and what was expected; a number that is missing fails the run under COMPAT=spring-ai alone',
      async () => {
        const add = await carried(
          defineTool({
            name: 'add',
            description: 'Adds',
            input: v.object({ a: v.number(), label: v.string() }),
            run: ({ a, label }) => ({ sum: a, label }),
          }),
        )
        const calling = (args: object) => ({ script: [ask(['add', args]), say('ok')], tools: add })
        const vars = { COMPAT: 'spring-ai' }
        const failed = await native({ ...calling({ label: 'x' }), vars })
        expect([failed.status, failed.json.code, failed.json.detail]).toEqual([
          502,
          'invalid_arguments',
          missing('a: is required (number)'),
        ])
        const wrong = await native({ ...calling({ a: 'many' }), vars })
        expect([wrong.json.status, wrong.json.calls.map(({ ok }) => ok)]).toEqual(['completed', [false]])
        const withoutText = await native({ ...calling({ a: 1 }), vars })
        expect(resultsIn(withoutText.requests[1]?.messages)).toEqual(['{"sum":1,"label":null}'])
        const ours = await native(calling({ label: 'x' }))
        expect(resultsIn(ours.requests[1]?.messages)).toEqual([missing('a: is required (number)')])
        const input = v.object({ counts: v.record(v.string(), v.number()) })
        expect(await parseWith(input, { counts: 'many' })).toBe(
          'The arguments of "tool" do not fit:\n- counts: expected Object, received "many"\nCorrect them and call again.',
        )
        expect(await parseWith(input, 'nill')).toBe(
          'The arguments of "tool" are not a JSON object: Unexpected token \'i\', "nill" is not valid JSON. ' +
            'Send one JSON object that fits its schema.',
        )
      },
    ),
  },
]
