import * as v from 'valibot'
import { expect } from 'vitest'
import { defineTool } from '../../../src/tool.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { ask, play, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, chat, eventsOf, native, QUESTION, resultsIn } from '../scene.ts'

const direct = { returnDirect: 'always' } as const
const sun = tool('sun', () => 'It shines', direct)
const rain = tool('rain', () => 'It falls', direct)

/** What the tool was sent for this text of arguments, and what the model then read. */
async function sendText(text: string) {
  const inputs: unknown[] = []
  const echo = tool('echo', (args) => inputs.push(args))
  const { results } = await executeToolCalls({ messages: [QUESTION], tools: [echo] }, answerWithCalls(['echo', text]))
  return { inputs, results: resultsIn(results) }
}

/** Rows 22 to 31: arguments as models write them, and results that are the answer. */
export const answers: readonly Row[] = [
  {
    row: 22,
    says: 'a call without arguments reaches its tool with an empty object',
    verdict: same(async () => {
      for (const text of ['', ' \n', '{}', 'null', '""'])
        expect(await sendText(text)).toEqual({ inputs: [{}], results: ['1'] })
    }),
  },
  {
    row: 23,
    says: 'nested arguments arrive as they were written',
    verdict: same(async () => {
      const args = { trip: { stops: [{ city: 'Århus', at: [56.15, -10.2e-1] }], notes: 'a "b"\n\\c' }, ok: null }
      expect((await sendText(JSON.stringify(args))).inputs).toEqual([args])
    }),
  },
  {
    row: 24,
    says: 'arguments that are no JSON end nothing',
    verdict: different('no tool is called with them: the model reads what is wrong', async () => {
      expect(await sendText('{invalid json}')).toEqual({
        inputs: [],
        results: [
          'The arguments of "echo" are not a JSON object: Expected property name or \'}\' in JSON at position 1 ' +
            '(line 1 column 2). Send one JSON object that fits its schema.',
        ],
      })
    }),
  },
  {
    row: 25,
    says: 'a tool that returns nothing has a result all the same',
    verdict: different('a result is never an empty text that looks lost', async () => {
      const input = v.object({})
      const tools = await carried(
        defineTool({ name: 'nothing', description: 'Nothing', input, run: () => null }),
        defineTool({ name: 'silent', description: 'Silent', input, run: () => undefined }),
      )
      const { results } = await executeToolCalls(
        { messages: [QUESTION], tools },
        answerWithCalls(['nothing'], ['silent']),
      )
      expect(resultsIn(results)).toEqual(['null', 'Success'])
    }),
  },
  {
    row: 26,
    says: 'of several answers of a model the first with calls counts',
    verdict: different(
      'there is one answer: asking for more is refused, and of a server that sends more the first is read',
      async () => {
        const { status, json } = await chat({ body: { n: 2 } })
        expect([status, json.error]).toEqual([
          400,
          {
            message: 'n: expected 1, received 2.',
            type: 'invalid_request_error',
            param: 'n',
            code: 'unsupported_parameter',
          },
        ])
        const choice = (name: string) => ({
          message: { tool_calls: [{ id: name, type: 'function', function: { name, arguments: '{}' } }] },
          finish_reason: 'tool_calls',
        })
        const events = await eventsOf({ choices: [choice('first'), choice('second')] })
        expect(events.filter(({ type }) => type === 'call')).toEqual([
          { type: 'call', index: 0, tool: 'first', arguments: '{}' },
        ])
      },
    ),
  },
  {
    row: 27,
    says: 'results that are the answer say what they are, and which tool they are of',
    verdict: different('they are one answer, in call order; the calls are told beside it', async () => {
      const { json, requests } = await chat({ script: [ask(['sun'], ['rain'])], tools: [sun, rain] })
      expect(json.choices[0].message.content).toBe('It shines\n\nIt falls')
      expect(json.edgecall).toMatchObject({
        steps: 1,
        finish: 'return_direct',
        calls: [
          { tool: 'sun', arguments: {}, ok: true },
          { tool: 'rain', arguments: {}, ok: true },
        ],
      })
      expect(requests).toHaveLength(1)
    }),
  },
  {
    row: 28,
    says: 'there is no answer to no messages',
    verdict: same(async () => {
      const { status, json } = await chat({ body: { messages: [] } })
      expect([status, json.error.message]).toEqual([400, 'messages: must not be empty.'])
    }),
  },
  {
    row: 29,
    says: 'no results are no answer',
    verdict: same(async () => {
      const executed = await executeToolCalls({ messages: [QUESTION], tools: [sun] }, answerWithCalls())
      expect([executed.results, executed.returnDirect]).toEqual([[], false])
    }),
  },
  {
    row: 30,
    says: 'a result without a text, or a call without an id, is an answer all the same',
    verdict: different('ids are the edge’s own, and a call without a name is answered with what is wrong', async () => {
      const empty = tool('empty', () => ({ ok: true, content: [] }), direct)
      const { json } = await native({ script: [ask(['empty'])], tools: [empty] })
      expect(json).toMatchObject({ answer: '', finish: 'return_direct', calls: [{ tool: 'empty', ok: true }] })
      expect(json.calls[0]?.id).toMatch(/^call_/)
      const nameless = { function: { name: '', arguments: '{}' } }
      const events = await eventsOf({
        choices: [{ message: { tool_calls: [nameless] }, finish_reason: 'tool_calls' }],
      })
      expect(events.at(-1)).toMatchObject({ type: 'finish', finish: 'tool_calls' })
    }),
  },
  {
    row: 31,
    says: 'only the results of the last step are the answer',
    verdict: same(async () => {
      const { state } = await play({ script: [ask(['look']), ask(['sun'])], tools: [tool('look', () => 'up'), sun] })
      expect(state.finished).toMatchObject({ finish: 'return_direct', answer: 'It shines' })
      expect(state.messages.map(({ role }) => role)).toEqual([
        ...['user', 'assistant', 'tool', 'assistant', 'tool'],
        'assistant',
      ])
    }),
  },
]
