import * as v from 'valibot'
import { expect } from 'vitest'
import { executeToolCalls } from '../../../src/loop.ts'
import { content, defineTool } from '../../../src/tool.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { keptEdge } from '../../http/kept-edge.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, parseWith, QUESTION, resultsIn } from '../scene.ts'
import { partsOf } from './scene.ts'

const anything = v.record(v.string(), v.unknown())

/** Texts of arguments that end in commas where none may stand. */
const WITH_COMMAS = [
  '{"a":1,}',
  '{"a":1 , }',
  '{"a":1,\n}',
  '{"a":[1,]}',
  '{"a":[1,2, ]}',
  '{"a":[[1,],]}',
  '{"a":{"b":1,}}',
  '{"a":{"b":1,},}',
  '{"a":[{"b":1,},]}',
  '{"a":"x",}',
  '{"a":null,}',
  '{"a":true,}',
  '{"a":{},}',
  '{"a":[],}',
  '{"a":1,"b":2,}',
  '{,}',
]

/** Rows 17 to 21: the texts that models write, and those that they read. */
export const texts: readonly Row[] = [
  {
    row: 17,
    says: 'commas before a closing bracket are taken out, at any depth',
    verdict: different('a comma alone is no JSON object', async () => {
      for (const text of WITH_COMMAS) {
        const plain: unknown = JSON.parse(text.replace(/,(?=\s*[\]}])/g, ''))
        const refusal = expect.stringContaining('The arguments of "tool" are not a JSON object: ')
        expect(await parseWith(anything, text)).toEqual(/[[{]\s*,/.test(text) ? refusal : plain)
      }
    }),
  },
  {
    row: 18,
    says: 'an object as the text of one is read, with quotes escaped or not',
    verdict: different('what is no JSON, as unescaped quotes inside of quotes, is not guessed at', async () => {
      expect(await parseWith(anything, '"{\\"a\\":\\"b\\"}"')).toEqual({ a: 'b' })
      expect(await parseWith(anything, '"{"a":"b"}"')).toContain('The arguments of "tool" are not a JSON object: ')
    }),
  },
  {
    row: 19,
    says: 'quotes that are escaped inside of a text are left alone',
    verdict: same(async () => {
      for (const args of [{ a: 'say "hi"' }, { a: '"' }, { a: '\\"' }, { a: '{"b":"c"}' }]) {
        expect(await parseWith(v.object({ a: v.string() }), args)).toEqual(args)
      }
    }),
  },
  {
    row: 20,
    says: 'a result has a text, a text that is made when wanted, or parts, and one of them alone',
    verdict: different('what a tool returns says which; it is told once, where errors are still caught', async () => {
      let count = 0
      const tools = await carried(
        defineTool({
          name: 'tool',
          description: 'Tool',
          input: v.object({}),
          run: () => ({ sum: 3 }),
          result: ({ sum }) => {
            count += 1
            return `The sum is ${sum}`
          },
        }),
      )
      const { results } = await executeToolCalls({ messages: [QUESTION], tools }, answerWithCalls(['tool']))
      expect([resultsIn(results), count]).toEqual([['The sum is 3'], 1])
      expect((await partsOf(() => content('a', 'b')))?.content).toEqual([
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ])
      expect((await partsOf(() => content()))?.content).toEqual([])
    }),
  },
  {
    row: 21,
    says: 'a result may be empty or blank, may have parts, and keeps all that it has where it is kept',
    verdict: same(async () => {
      for (const text of ['', ' ']) expect((await partsOf(() => text))?.content).toEqual([{ type: 'text', text }])
      const parts = [
        { type: 'text', text: '' },
        { type: 'image', mediaType: 'image/png', data: 'aGk=' },
      ] as const
      const edge = keptEdge({
        script: [ask(['draw']), say('drawn')],
        tools: [tool('draw', () => ({ ok: true, content: parts }))],
      })
      const runs = '/conversations/c/runs'
      await edge.post('/conversations', { id: 'c' })
      const { calls } = (await (await edge.post(runs, { input: 'Draw' })).json()) as { calls: { id: string }[] }
      const stored = (await (await edge.fetch('/conversations/c/messages')).json()) as { message: object }[]
      expect(stored[2]?.message).toEqual({ role: 'tool', callId: calls[0]?.id, tool: 'draw', ok: true, content: parts })
    }),
  },
]
