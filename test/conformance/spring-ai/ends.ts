import { expect } from 'vitest'
import type { Hook } from '../../../src/contract/hook.ts'
import type { Message } from '../../../src/contract/message.ts'
import { openAiDecisions } from '../../../src/model/decisions.ts'
import { collect, executeToolCalls, memory } from '../../../src/loop.ts'
import { scripted } from '../../fixtures/scripted.ts'
import { settle } from '../../fixtures/settle.ts'
import { issuesOf } from '../../../src/schema/validate.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { keptEdge } from '../../http/kept-edge.ts'
import { different, type Row, same } from '../rows.ts'
import { chat, chatStream, edgeWith, eventsOf, QUESTION, resultsIn } from '../scene.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))
const sum = ask(['add', { a: 1, b: 2 }])

/** The calls that are heard of these fragments, a chunk each, or what is wrong with them. */
async function callsOf(...fragments: readonly (readonly object[])[]): Promise<unknown> {
  const chunks = fragments.map((calls) => ({ choices: [{ delta: { tool_calls: calls } }] }))
  const events = await eventsOf([...chunks, { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }])
  const error = events.find((event) => event.type === 'error')
  if (error) return error.error.message
  return events.flatMap((event) => (event.type === 'call' ? [[event.tool, event.arguments]] : []))
}

const SCHEMA = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] }

/** A run that must answer by the schema. */
function structured(...script: Parameters<typeof play>[0]['script']) {
  return play({
    script,
    tools: [add],
    request: { responseFormat: { type: 'json_schema', name: 'sum', schema: SCHEMA } },
    loop: { validate: async (schema, value) => issuesOf(schema, value) },
  })
}

/** Rows 148 to 153: calls in fragments, answers by a schema, all of it together, confirmation and reduced memories. */
export const ends: readonly Row[] = [
  {
    row: 148,
    says: 'calls that come in fragments are put together by their index, whatever their ids',
    verdict: different('an id that is missing is no fault, since ids are the edge’s own', async () => {
      const callDelta = (index: number, name: string, id?: string) => ({
        index,
        ...(id !== undefined && { id }),
        function: { name, arguments: '' },
      })
      const more = (index: number, text: string, id?: string) => ({
        index,
        ...(id !== undefined && { id }),
        function: { arguments: text },
      })
      const sun = [['sun', '{"at":1}']]
      expect(await callsOf([callDelta(0, 'sun', 'a')], [more(0, '{"at"')], [more(0, ':1}')])).toEqual(sun)
      expect(await callsOf([callDelta(0, 'sun', 'a')], [more(0, '{"at"', '')], [more(0, ':1}', 'a')])).toEqual(sun)
      expect(await callsOf([callDelta(0, 'sun')], [more(0, '{"at":1}')])).toEqual(sun)
      expect(await callsOf([], [callDelta(0, 'sun', 'a')], [], [more(0, '{"at":1}')])).toEqual(sun)
      expect(
        await callsOf(
          [callDelta(0, 'sun', 'a')],
          [callDelta(1, 'rain', 'b')],
          [more(0, '{"at":1}')],
          [more(1, '{"at"')],
          [more(1, ':2}')],
        ),
      ).toEqual([...sun, ['rain', '{"at":2}']])
      expect(await callsOf([{ index: 0, id: 'a', function: { name: 'sun' } }])).toEqual([['sun', '']])
      expect(await callsOf([more(0, '{}', 'a')])).toEqual([['', '{}']])
    }),
  },
  {
    row: 149,
    says: 'an answer that does not fit its schema is asked for again, and all that costs is counted',
    verdict: different(
      'twice, not three times; rounds with calls are no answers; streams are checked too',
      async () => {
        const once = await structured(say('{"sum":3}'))
        expect([once.state.finished?.answer, once.requests.length]).toEqual(['{"sum":3}', 1])
        const mended = await structured(sum, say('{"sum":"three"}'), say('{"sum":3}'))
        expect([mended.state.finished?.answer, mended.state.usage]).toEqual([
          '{"sum":3}',
          { inputTokens: 30, outputTokens: 15 },
        ])
        expect(mended.requests[2]?.messages.slice(-2)).toEqual([
          { role: 'assistant', content: '{"sum":"three"}' },
          {
            role: 'user',
            content:
              'This answer does not fit the requested JSON Schema:\n' +
              '- sum: expected integer, received "three"\nAnswer again with the JSON alone.',
          },
        ])
        const hopeless = await structured(say('three'), say('3'), say('{}'))
        expect(hopeless.requests).toHaveLength(3)
        expect(hopeless.state.finished).toMatchObject({
          status: 'failed',
          error: { code: 'invalid_answer' },
          usage: { inputTokens: 30, outputTokens: 15 },
        })
      },
    ),
  },
  {
    row: 150,
    says: 'all of it together: hooks see results, one’s own loop runs, limits hold, results return, and all is remembered',
    verdict: same(async () => {
      const names: string[][] = []
      const hook: Hook = {
        name: 'sees',
        step: (request, next) => {
          names.push(resultsIn(request.messages))
          return next(request)
        },
      }
      const watched = edgeWith([sum, say('3')], [add], { loop: { hooks: [hook] } })
      expect((await watched.run()).answer).toBe('3')
      expect(names).toEqual([[], ['3']])

      const remembered = memory()
      remembered.add(QUESTION)
      const model = scripted([sum, say('3')])
      const requestOf = () => ({ messages: remembered.messages(), tools: [add.definition] })
      const first = await collect(model.stream(requestOf(), new AbortController().signal))
      const { messages } = await executeToolCalls({ messages: remembered.messages(), tools: [add] }, first)
      remembered.add(...messages.slice(1))
      const second = await collect(model.stream(requestOf(), new AbortController().signal))
      expect([second.text, resultsIn(model.requests[1]?.messages)]).toEqual(['3', ['3']])

      const direct = tool('answer', () => '42', { returnDirect: 'always' })
      expect((await chatStream({ script: [sum, ask(['answer'])], tools: [add, direct] })).texts).toEqual(['42'])
      const limited = await chat({
        script: [sum, sum, say('3')],
        tools: [add],
        body: { edgecall: { limits: { calls: 1 }, onLimit: 'model' } },
      })
      expect([limited.answer, limited.json.edgecall.calls.map(({ ok }) => ok)]).toEqual(['3', [true, false]])

      const edge = keptEdge({ script: [sum, say('3'), say('You asked for a sum')], tools: [add] })
      const header = { 'x-conversation-id': 'talk' }
      await edge.post('/v1/chat/completions', { messages: [QUESTION] }, header)
      await edge.post('/v1/chat/completions', { messages: [{ role: 'user', content: 'What was it?' }] }, header)
      const roles = (edge.requests[2]?.messages ?? []).map(({ role }: Message) => role)
      expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    }),
  },
  {
    row: 151,
    says: 'a call that needs confirmation runs once a person has agreed, and a refusal is told to the model',
    verdict: same(async () => {
      for (const [decision, result] of [
        ['approve', '3'],
        ['reject', 'A person refused this call.'],
      ] as const) {
        const guarded = tool('add', ({ a, b }) => Number(a) + Number(b), { approval: 'always' })
        const edge = keptEdge({ script: [sum, say('Done.')], tools: [guarded] })
        await edge.post('/conversations', { id: 'talk' })
        const { id, status, calls } = await (await edge.post('/conversations/talk/runs', { input: 'Add.' })).json<any>()
        expect([status, calls[0].status, edge.requests.length]).toEqual(['waiting', 'approval', 1])
        await edge.post(`/conversations/talk/runs/${id}/calls/${calls[0].id}`, { decision })
        await settle()
        expect(resultsIn(edge.requests[1]?.messages)).toEqual([result])
      }
    }),
  },
  {
    row: 152,
    says: 'a memory that is reduced loses whole turns: no call without its result, and no result without its call',
    verdict: same(async () => {
      const turns = Array.from({ length: 12 }, () => [sum, say('3')]).flat()
      const edge = keptEdge({ script: turns, tools: [add], vars: { MEMORY_MESSAGES: '6' } })
      for (let turn = 0; turn < 12; turn += 1)
        await edge.post('/v1/chat/completions', { messages: [QUESTION] }, { 'x-conversation-id': 'talk' })
      const last = edge.requests.at(-1)?.messages ?? []
      const roles = last.flatMap(({ role }: Message) => (role === 'system' ? [] : [role]))
      const turn = ['user', 'assistant', 'tool', 'assistant']
      expect(roles).toEqual([...turn, ...turn.slice(0, 3)])
    }),
  },
  {
    row: 153,
    says: 'a decision model chooses one of several options, gives the probability of each, and may refuse',
    verdict: same(async () => {
      const probabilities = [
        { value: 'billing', probability: 0.9 },
        { value: 'support', probability: 0.1 },
      ]
      const choice = { type: 'choice', name: 'decision', choice: 'billing', confidence: 0.8, probabilities }
      const ask = async (answer: object) => {
        const models = openAiDecisions({ fetch: async () => Response.json({ answers: [answer] }) })
        const request = {
          instructions: 'Which team should handle this ticket?',
          input: { ticket: 'My payouts have been failing for 3 days.' },
          answers: { billing: 'Payments, invoices', support: 'Problems using the product' },
        }
        return models('gpt-6-luna').decide(request, new AbortController().signal)
      }
      expect(await ask(choice)).toEqual({
        ok: true,
        answer: 'billing',
        probabilities: { billing: 0.9, support: 0.1 },
      })
      expect(await ask({ type: 'refusal', name: 'decision' })).toMatchObject({
        ok: false,
        error: { code: 'model_refused_request' },
      })
    }),
  },
]
