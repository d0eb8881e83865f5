import * as v from 'valibot'
import { expect } from 'vitest'
import type { ModelEvent } from '../../../src/contract/model.ts'
import { failure } from '../../../src/contract/tool.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { defineRawTool, defineTool } from '../../../src/tool.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { keptEdge } from '../../http/kept-edge.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, chat, chatStream, QUESTION } from '../scene.ts'
import { COMPAT } from './scene.ts'

/** What a tool of each letter wants: to the model, immediately, immediately if last. */
const TOOLS = [
  tool('T', () => 'T!'),
  tool('I', () => 'I!', { returnDirect: 'always' }),
  tool('L', () => 'L!', { returnDirect: 'if-last' }),
  tool('broken', () => failure('broken', 'It broke.')),
]

const DIRECT = ['I', 'II', 'L', 'LL', 'TL', 'IL', 'TIL', 'ITL']
/** LangChain4j returns `LI` directly too: a tool that is direct if it is last is so beside tools that always are. */
const REPEATED = ['LI', 'T', 'TT', 'TI', 'IT', 'LT', 'TLI', 'ILT', 'LTI', 'LIT']

/** The letters, one of which stands for a tool that fails. */
const BROKEN = ['x', 'xI', 'Ix', 'xL', 'Lx', 'xT', 'Tx', 'xIL', 'IxL', 'TxL', 'xTL', 'ILx', 'xx']

function calling(letters: string): ModelEvent[] {
  return ask(...letters.split('').map((letter): [string] => [letter === 'x' ? 'broken' : letter]))
}

const textOfAll = (letters: string) =>
  letters
    .split('')
    .map((letter) => `${letter}!`)
    .join('\n\n')

/** Rows 49 to 54: results that are the answer. */
export const direct: readonly Row[] = [
  {
    row: 49,
    says: 'results are the answer where all calls want that, or the last one does if it is last; else the model goes on',
    verdict: different('only under COMPAT=langchain4j is [IMMEDIATE_IF_LAST, IMMEDIATE] immediate', async () => {
      const outcomes: Record<string, unknown> = {}
      const expected: Record<string, unknown> = {}
      for (const letters of [...DIRECT, ...REPEATED]) {
        const scene = { script: [calling(letters), say('said')], tools: TOOLS }
        const { answer, requests } = await chat(scene)
        const { texts } = await chatStream(scene)
        outcomes[letters] = [answer, texts.join(''), requests.length]
        const isDirect = DIRECT.includes(letters)
        const expectedAnswer = isDirect ? textOfAll(letters) : 'said'
        expected[letters] = [expectedAnswer, expectedAnswer, isDirect ? 1 : 2]
      }
      expect(outcomes).toEqual(expected)
      const repeat = await Promise.all(
        REPEATED.map((letters) => chat({ script: [calling(letters), say('said')], tools: TOOLS, vars: COMPAT })),
      )
      expect(REPEATED.filter((_, index) => repeat[index]?.requests.length === 1)).toEqual(['LI'])
    }),
  },
  {
    row: 50,
    says: 'where one call has failed, the model goes on, whatever the others want',
    verdict: same(async () => {
      for (const letters of BROKEN) {
        const { answer, requests } = await chat({ script: [calling(letters), say('said')], tools: TOOLS })
        expect([letters, answer, requests.length]).toEqual([letters, 'said', 2])
      }
    }),
  },
  {
    row: 51,
    says: 'a method gets the one result that is not null; two of them, or another type, are an error',
    verdict: different('an answer is a text: one result is its own, of several each has its paragraph', async () => {
      const input = v.object({})
      const makeTool = (name: string, value: unknown) =>
        defineTool({ name, description: name, input, returnDirect: 'always', run: () => value })
      const tools = await carried(
        makeTool('nothing', undefined),
        makeTool('null', null),
        makeTool('one', 1),
        makeTool('two', { n: 2 }),
      )
      const answerOf = async (...names: readonly string[]) => {
        const { answer } = await chat({ script: [ask(...names.map((name): [string] => [name]))], tools })
        return answer
      }
      expect(await answerOf('nothing')).toBe('Success')
      expect(await answerOf('null', 'null')).toBe('null\n\nnull')
      expect(await answerOf('null', 'one')).toBe('null\n\n1')
      expect(await answerOf('one', 'two')).toBe('1\n\n{"n":2}')
    }),
  },
  {
    row: 52,
    says: 'where nothing was called, nothing is returned directly',
    verdict: same(async () => {
      const { returnDirect, results } = await executeToolCalls(
        { messages: [QUESTION], tools: TOOLS },
        answerWithCalls(),
      )
      expect([returnDirect, results]).toEqual([false, []])
    }),
  },
  {
    row: 53,
    says: 'after a direct result the conversation goes on, and is whole',
    verdict: different('the result is the last word of the turn, so that no turn ends without an answer', async () => {
      const edge = keptEdge({ script: [calling('I'), say('Yes.')], tools: TOOLS })
      await edge.post('/conversations', { id: 'c' })
      for (const input of ['Go', 'Sure?']) await edge.post('/conversations/c/runs', { input })
      expect(edge.requests[1]?.messages).toMatchObject([
        { role: 'user', content: 'Go' },
        { role: 'assistant', calls: [{ tool: 'I' }] },
        { role: 'tool', tool: 'I', content: [{ type: 'text', text: 'I!' }] },
        { role: 'assistant', content: 'I!' },
        { role: 'user', content: 'Sure?' },
      ])
    }),
  },
  {
    row: 54,
    says: 'a tool that is made from data returns directly too, and the answer has no text',
    verdict: different('the answer is the result, collected and streamed', async () => {
      const [raw] = await carried(defineRawTool({ name: 'raw', returnDirect: 'always' }, () => 'Raw!'))
      const scene = { script: [ask(['raw'])], tools: raw ? [raw] : [] }
      expect((await chat(scene)).answer).toBe('Raw!')
      expect((await chatStream(scene)).texts).toEqual(['Raw!'])
      const { state } = await play(scene)
      expect(state.finished).toMatchObject({ status: 'completed', finish: 'return_direct', answer: 'Raw!' })
    }),
  },
]
