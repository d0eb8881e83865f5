import { expect } from 'vitest'
import type { Hook } from '../../../src/contract/hook.ts'
import type { Message } from '../../../src/contract/message.ts'
import { testEdge } from '../../fixtures/edge.ts'
import { ask, id, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { chat, chatStream, costing, native, QUESTION, resultsIn } from '../scene.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))
const direct = tool('answer', () => '42', { returnDirect: 'always' })
const sum = ask(['add', { a: 1, b: 2 }])
const usage = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens })
const WITH_USAGE = { stream_options: { include_usage: true } }

/** Shows the model nothing but the system message and the newest result. */
const forgetful: Hook = {
  name: 'forgetful',
  step: (request, next, { step }) => {
    const [system] = request.messages
    const last = request.messages.at(-1)
    return next(step > 1 && system && last ? { ...request, messages: [system, last] } : request)
  },
}

/** Rows 53 to 60: runs as streams, and runs that are cut short. */
export const stream: readonly Row[] = [
  {
    row: 53,
    says: 'of a run with calls the stream holds the answer alone',
    verdict: different(
      'a stream has all text as it comes; `rounds: "final"`, which COMPAT=spring-ai sets, leaves out what precedes calls',
      async () => {
        const script = [[{ type: 'text', text: 'Let me see.' } as const, ...sum], say('It is 3')]
        const { texts, requests } = await chatStream({ script, tools: [add] })
        expect([texts.join(''), requests.length]).toEqual(['Let me see.\n\nIt is 3', 2])
        const final = await chatStream({ script, tools: [add], body: { edgecall: { rounds: 'final' } } })
        expect(final.texts.join('')).toBe('It is 3')
        const textWith = async (vars: Record<string, string>, edgecall = {}) =>
          (await chatStream({ script, tools: [add], vars, body: { edgecall } })).texts.join('')
        expect(await textWith({ COMPAT: 'spring-ai' })).toBe('It is 3')
        expect(await textWith({}, { compat: 'spring-ai' })).toBe('It is 3')
        expect(await textWith({ COMPAT: 'spring-ai', ROUNDS: 'auto' })).toBe('Let me see.\n\nIt is 3')
        expect(await textWith({ ROUNDS: 'final' })).toBe('It is 3')
      },
    ),
  },
  {
    row: 54,
    says: 'usage in the stream counts the rounds before',
    verdict: different('it is told once, at the end, as OpenAI does', async () => {
      const { chunks } = await chatStream({
        script: [costing(sum, usage(10, 20)), costing(say('3'), usage(1, 2))],
        tools: [add],
        body: WITH_USAGE,
      })
      expect(new Set(chunks.slice(0, -1).map((chunk) => chunk.usage))).toEqual(new Set([null]))
      expect(chunks.at(-1)).toMatchObject({
        choices: [],
        usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 },
      })
    }),
  },
  {
    row: 55,
    says: 'where the last round tells no usage, that of the others comes in a chunk without choices',
    verdict: same(async () => {
      const { chunks } = await chatStream({
        script: [costing(sum, usage(10, 20)), costing(say('3'))],
        tools: [add],
        body: WITH_USAGE,
      })
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 30 } })
    }),
  },
  {
    row: 56,
    says: 'usage is that of the one request, however often it is asked',
    verdict: same(async () => {
      const round = [costing(sum, usage(10, 20)), costing(say('3'), usage(1, 2))]
      const edge = testEdge({ script: [...round, ...round], tools: [add] })
      const json = { messages: [QUESTION], stream: true, ...WITH_USAGE }
      for (let time = 0; time < 2; time++) {
        const text = await (await edge.ask('/v1/chat/completions', { json })).text()
        expect(/"total_tokens":(\d+)/.exec(text)?.[1]).toBe('33')
      }
    }),
  },
  {
    row: 57,
    says: 'a result that returns directly is one chunk of the stream',
    verdict: same(async () => {
      const { texts, requests } = await chatStream({ script: [ask(['answer'])], tools: [direct] })
      expect([texts, requests.length]).toEqual([['42'], 1])
    }),
  },
  {
    row: 58,
    says: 'the model may be shown no more of the turn than its newest result',
    verdict: different('that is for a hook to say: a result without its call is refused by most models', async () => {
      const { requests } = await play({
        script: [sum, say('3')],
        tools: [add],
        request: { system: 'Be brief.' },
        loop: { hooks: [forgetful] },
      })
      const result: Message = {
        role: 'tool',
        callId: id(1, 0),
        tool: 'add',
        ok: true,
        content: [{ type: 'text', text: '3' }],
      }
      expect(requests[1]?.messages).toEqual([{ role: 'system', content: 'Be brief.' }, result])
    }),
  },
  {
    row: 59,
    says: 'what the model is not shown still counts: limits and history know the whole turn',
    verdict: same(async () => {
      const { state } = await play({
        script: [sum, sum, say('3')],
        tools: [add],
        request: { system: 'Be brief.', limits: { callsPerTool: 1 }, onLimit: 'model', compat: 'spring-ai' },
        loop: { hooks: [forgetful] },
      })
      expect(resultsIn(state.messages)).toEqual([
        '3',
        "Tool call limit (1) exceeded for tool 'add'. No further calls to this tool are allowed in this turn.",
      ])
      expect(state.messages.map(({ role }) => role)).toEqual([
        'user',
        ...['assistant', 'tool'],
        ...['assistant', 'tool'],
        'assistant',
      ])
    }),
  },
  {
    row: 60,
    says: 'a run over its limit ends, and says so',
    verdict: different(
      'the model answers with what it has; under COMPAT=spring-ai the answer is their text',
      async () => {
        const scene = { script: [sum, sum, say('It is 3')], tools: [add] }
        const ours = await chat({ ...scene, vars: { MAX_CALLS_PER_TOOL: '1' } })
        expect([ours.answer, ours.json.choices[0].finish_reason, ours.json.edgecall.finish]).toEqual([
          'It is 3',
          'length',
          'limit',
        ])
        const vars = { MAX_CALLS_PER_TOOL: '1', COMPAT: 'spring-ai' }
        const message =
          "Tool call limit (1) exceeded for tool 'add'. No further calls to this tool are allowed in this turn."
        const run = await native({ ...scene, vars })
        expect(run.json).toMatchObject({
          status: 'completed',
          finish: 'limit',
          which: 'callsPerTool',
          answer: message,
          // Their partial responses are the calls of the run that succeeded.
          calls: [
            { tool: 'add', ok: true, content: [{ type: 'text', text: '3' }] },
            { tool: 'add', ok: false, error: { code: 'limit', message } },
          ],
        })
        const requestOptions = { limits: { callsPerTool: 1 }, compat: 'spring-ai' }
        expect((await native({ ...scene, body: requestOptions })).json).toMatchObject({
          finish: 'limit',
          answer: message,
        })
        const { texts } = await chatStream({ ...scene, vars })
        expect(texts).toEqual([message])
        const { status, answer } = await chat({ ...scene, vars })
        expect([status, answer]).toEqual([200, message])
      },
    ),
  },
]
