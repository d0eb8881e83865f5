import * as v from 'valibot'
import { expect } from 'vitest'
import { defineTool } from '../../../src/tool.ts'
import type { Judge } from '../../../src/contract/decision.ts'
import type { ModelEvent } from '../../../src/contract/model.ts'
import { TOOL_SEARCH } from '../../../src/contract/tool.ts'
import { systemOne } from '../../../src/model/decisions.ts'
import { createToolSearch } from '../../../src/search/tool-search.ts'
import { chain } from '../../../src/host/source/chain.ts'
import { inlineSource } from '../../../src/host/source/inline.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { chat, namesIn, resultsIn } from '../scene.ts'
import { COMPAT, throwing } from './scene.ts'

const work = tool('work', () => 'done')
const direct = tool('direct', () => '42', { returnDirect: 'always' })

/** Rows 115 to 123: what is on offer and what is told, where no test of theirs pins it. */
export const unpinnedOffers: readonly Row[] = [
  {
    row: 115,
    says: 'a direct result after a round that was not direct is lost',
    verdict: different('what counts is the step: its result is the answer', async () => {
      const { answer, requests } = await chat({ script: [ask(['work']), ask(['direct'])], tools: [work, direct] })
      expect([answer, requests.length]).toEqual(['42', 2])
    }),
  },
  {
    row: 116,
    says: 'what the application answers for a tool that does not exist has no id of its own, and is no error',
    verdict: different('it is the result of that call, and it is an error', async () => {
      const { requests } = await chat({
        script: [ask(['nosuch']), say('ok')],
        tools: [work],
        setup: { loop: { onFault: () => ({ message: 'Use work' }) } },
      })
      const [, request, result] = requests[1]?.messages ?? []
      const callId = request?.role === 'assistant' ? request.calls?.[0]?.callId : undefined
      expect(result).toEqual({
        role: 'tool',
        callId,
        tool: 'nosuch',
        ok: false,
        content: [{ type: 'text', text: 'Use work' }],
      })
    }),
  },
  {
    row: 117,
    says: 'the tools of one request hold for its first step alone, and a forced choice for all of them',
    verdict: different('its tools hold for the whole run, and a choice is forced once', async () => {
      const { requests } = await chat({
        script: [ask(['work']), ask(['work']), say('ok')],
        tools: [work, direct],
        body: { edgecall: { tools: ['work'] }, tool_choice: 'required' },
      })
      expect(requests.map((request) => [namesIn(request), request.toolChoice])).toEqual([
        [['work'], 'required'],
        [['work'], undefined],
        [['work'], undefined],
      ])
    }),
  },
  {
    row: 118,
    says: 'where a provider repeats a name, the tool that was there first wins without a word',
    verdict: different('the same tool is one; two that differ are both out, and it is listed why', async () => {
      const { requests } = await chat({
        script: [ask(['work']), say('ok')],
        tools: [work],
        setup: { loop: { hooks: [{ name: 'same', offer: () => ['work'], activate: (names) => [...names, 'work'] }] } },
      })
      expect(requests.map(namesIn)).toEqual([['work'], ['work']])
      const sourceOf = (description: string, place: string) =>
        inlineSource([defineTool({ name: 'work', description, input: v.object({}), run: () => place })], {
          env: {},
          place,
        })
      const [same, other] = [
        chain([sourceOf('Works', 'here'), sourceOf('Works', 'there')]),
        chain([sourceOf('Works', 'here'), sourceOf('Works otherwise', 'there')]),
      ]
      expect((await same.list()).tools.map(({ place }) => place)).toEqual(['here'])
      const { tools, unavailable } = await other.list()
      expect([tools, unavailable.map(({ place }) => place)]).toEqual([[], ['here', 'there']])
    }),
  },
  {
    row: 119,
    says: 'a hidden tool runs when it is called, and a search that names an unknown one ends the run',
    verdict: different('what is not on offer does not run, and what nobody knows is left out', async () => {
      let ran = 0
      const hidden = tool('hidden', () => ++ran)
      const search = await createToolSearch().open('session', [hidden.definition])
      const { requests, state } = await play({
        script: [ask(['hidden']), say('ok')],
        tools: [search],
        others: [hidden],
        loop: { hooks: [{ name: 'search', activate: () => [TOOL_SEARCH, 'ghost'] }] },
      })
      expect([ran, requests.map(namesIn)]).toEqual([0, [[TOOL_SEARCH], [TOOL_SEARCH]]])
      expect(resultsIn(state.messages)).toEqual([
        `There is no tool "hidden". Call one that is on offer, such as "${TOOL_SEARCH}".`,
      ])
      expect(state.finished).toMatchObject({ status: 'completed', answer: 'ok' })
    }),
  },
  {
    row: 120,
    says: 'of an exception with a cause the cause is told, and what is no exception ends everything',
    verdict: different('whatever is thrown is a failed call: nothing is told, or what was thrown itself', async () => {
      const outer = new Error('outer', { cause: new Error('inner') })
      const resultFor = async (error: unknown, vars = {}) => {
        const scene = { script: [ask(['broken']), say('ok')], tools: [await throwing(error)], vars }
        return resultsIn((await chat(scene)).requests[1]?.messages)
      }
      for (const error of [outer, 'a text', { code: 7 }, undefined]) {
        expect(await resultFor(error)).toEqual(['The tool "broken" failed.'])
      }
      expect(await resultFor(outer, COMPAT)).toEqual(['outer'])
      expect(await resultFor('a text', COMPAT)).toEqual(['a text'])
      expect(await resultFor(new RangeError('Out of memory'), COMPAT)).toEqual(['Out of memory'])
    }),
  },
  {
    row: 121,
    says: 'the arguments of a call are streamed as they are written, a piece at a time',
    verdict: same(async () => {
      const pieces = ['{"q":', '"tea', '"}']
      const deltas = pieces.map((text, at): ModelEvent => ({
        type: 'call.delta',
        index: 0,
        arguments: text,
        ...(at === 0 && { tool: 'work' }),
      }))
      const { events } = await play({
        script: [
          [
            ...deltas,
            { type: 'call', index: 0, tool: 'work', arguments: pieces.join('') },
            { type: 'finish', finish: 'tool_calls' },
          ],
          say('ok'),
        ],
        tools: [work],
      })
      const received = events.flatMap((event) => (event.type === 'call.delta' ? [event.arguments] : []))
      expect(received.join('')).toBe(pieces.join(''))
    }),
  },
  {
    row: 122,
    says: 'a decision model is asked whether a call may run',
    verdict: different('a policy names the tools, and a person decides where the model is not sure', async () => {
      const judge: Judge = {
        call: async ({ definition: { name } }) => ({ ok: name === 'work', model: 'systemone/nimble' }),
      }
      const decides = { approval: 'always', modelMayApprove: true } as const
      const { state } = await play({
        script: [ask(['pay'], ['work'])],
        tools: [tool('work', () => 'worked', decides), tool('pay', () => 'paid', decides)],
        request: { conversation: 'talk', isFromUser: true },
        loop: { judge },
      })
      expect(state.calls.map(({ tool: name, status }) => [name, status])).toEqual([
        ['pay', 'awaiting_approval'],
        ['work', 'settled'],
      ])
    }),
  },
  {
    row: 123,
    says: 'a decision model chooses one of several options, and gives the probability of each',
    verdict: same(async () => {
      const model = systemOne({
        baseUrl: 'http://localhost:11434/v1',
        fetch: async (url) => {
          expect(url).toBe('http://localhost:11434/v1/systemone')
          const probabilities = { billing: 0.97, support: 0.03 }
          return Response.json({ answers: { decision: { type: 'choice', choice: 'billing', probabilities } } })
        },
      })('nimble')
      const request = {
        instructions: 'Which team should handle this ticket?',
        input: { ticket: 'My payouts have been failing for 3 days.' },
        answers: { billing: 'Payments, invoices', support: 'Problems using the product' },
      }
      expect(await model.decide(request, new AbortController().signal)).toEqual({
        ok: true,
        answer: 'billing',
        probabilities: { billing: 0.97, support: 0.03 },
      })
    }),
  },
]
