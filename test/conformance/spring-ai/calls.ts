import * as v from 'valibot'
import { expect } from 'vitest'
import type { Span } from '../../../src/observe/span-recorder.ts'
import { spans } from '../../fixtures/spans.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { defineTool, ToolError } from '../../../src/tool.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, chat, namesIn, native, QUESTION, resultsIn } from '../scene.ts'

const sun = tool('sun', () => 'It shines')
const rain = tool('rain', () => 'It falls')
const direct = { returnDirect: 'always' } as const
const EMPTY = { type: 'object' } as const

/** Rows 1 to 13: the calls of one answer. */
export const calls: readonly Row[] = [
  {
    row: 1,
    says: 'the model is told of the tools of the request, and of no others',
    verdict: same(async () => {
      const { requests } = await chat({
        script: [say('hi')],
        tools: [sun, rain],
        body: { edgecall: { tools: ['rain'] } },
      })
      expect(requests[0]?.tools).toEqual([rain.definition])
    }),
  },
  {
    row: 2,
    says: 'what must be there and is not is refused before anything runs',
    verdict: different('a caller reads a 400 that names what is missing, not an exception', async () => {
      const completion = await chat({ body: { messages: undefined } })
      expect(completion.json.error).toEqual({
        message: 'messages: is required.',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'missing_required_parameter',
      })
      const run = await native({ body: { input: undefined } })
      expect(run.json).toEqual({ status: 400, code: 'invalid_request', detail: 'input: is required.', param: 'input' })
      expect([completion.status, run.status, ...completion.requests, ...run.requests]).toEqual([400, 400])
    }),
  },
  {
    row: 3,
    says: 'an answer without calls has nothing to run',
    verdict: different('that is no fault: it brings no results', async () => {
      const answer = { text: 'hi', calls: [], finish: 'stop' } as const
      expect(await executeToolCalls({ messages: [QUESTION], tools: [sun] }, answer)).toEqual({
        messages: [QUESTION, { role: 'assistant', content: 'hi' }],
        results: [],
        returnDirect: false,
      })
    }),
  },
  {
    row: 4,
    says: 'a tool that is not on offer is not run',
    verdict: different(
      'the model is told, and goes on; the run fails with their text under COMPAT=spring-ai',
      async () => {
        const scene = { script: [ask(['resolverOnlyTool']), say('I cannot')], tools: [sun] }
        const ours = await chat(scene)
        expect(ours.answer).toBe('I cannot')
        expect(resultsIn(ours.requests[1]?.messages)).toEqual([
          'There is no tool "resolverOnlyTool". Call one that is on offer, such as "sun".',
        ])
        const theirs = await native({ ...scene, vars: { COMPAT: 'spring-ai' } })
        expect(theirs.json).toMatchObject({
          status: 502,
          code: 'unknown_tool',
          detail: 'No ToolCallback found for tool name: resolverOnlyTool',
        })
        expect(theirs.requests).toHaveLength(1)
      },
    ),
  },
  {
    row: 5,
    says: 'a tool that only a resolver knows can be run all the same',
    verdict: different('what a model was not told of never runs: a hook puts it on offer first', async () => {
      const { requests, state } = await play({
        script: [ask(['resolverOnlyTool']), say('done')],
        tools: [sun],
        others: [tool('resolverOnlyTool', () => 'resolved')],
        loop: { hooks: [{ name: 'resolver', activate: (names) => [...names, 'resolverOnlyTool'] }] },
      })
      expect(namesIn(requests[0])).toEqual(['sun', 'resolverOnlyTool'])
      expect(resultsIn(state.messages)).toEqual(['resolved'])
    }),
  },
  {
    row: 6,
    says: 'a call adds the answer and its result, with id and name, to the messages',
    verdict: same(async () => {
      const answer = answerWithCalls(['sun', { at: 'noon' }])
      const result = {
        role: 'tool',
        callId: 'call_1',
        tool: 'sun',
        ok: true,
        content: [{ type: 'text', text: 'It shines' }],
      }
      expect(await executeToolCalls({ messages: [QUESTION], tools: [sun] }, answer)).toEqual({
        messages: [QUESTION, { role: 'assistant', content: '', calls: answer.calls }, result],
        results: [result],
        returnDirect: false,
      })
    }),
  },
  {
    row: 7,
    says: 'one call of a tool that returns directly does so',
    verdict: same(async () => {
      const executed = await executeToolCalls(
        { messages: [QUESTION], tools: [tool('now', () => '10:00', direct)] },
        answerWithCalls(['now']),
      )
      expect([executed.returnDirect, resultsIn(executed.results)]).toEqual([true, ['10:00']])
    }),
  },
  {
    row: 8,
    says: 'several calls have their results in the order of the calls',
    verdict: different('each result is a message of its own, as models have it', async () => {
      const slow = tool('slow', () => new Promise((resolve) => setTimeout(resolve, 5, 'at last')))
      const { results } = await executeToolCalls(
        { messages: [QUESTION], tools: [slow, sun] },
        answerWithCalls(['slow'], ['sun']),
      )
      expect(results).toEqual([
        { role: 'tool', callId: 'call_1', tool: 'slow', ok: true, content: [{ type: 'text', text: 'at last' }] },
        { role: 'tool', callId: 'call_2', tool: 'sun', ok: true, content: [{ type: 'text', text: 'It shines' }] },
      ])
      let running = 0
      let most = 0
      const busy = tool('busy', async () => {
        most = Math.max(most, ++running)
        await Promise.resolve()
        running -= 1
      })
      const scene = { script: [ask(['busy'], ['busy'], ['busy']), say('done')], tools: [busy] }
      await chat(scene)
      expect(most).toBe(3)
      most = 0
      // Theirs runs one call after the other.
      await chat({ ...scene, vars: { COMPAT: 'spring-ai' } })
      expect(most).toBe(1)
    }),
  },
  {
    row: 9,
    says: 'several calls return directly where all of their tools do',
    verdict: same(async () => {
      const tools = [tool('now', () => '10:00', direct), tool('then', () => '11:00', direct)]
      const executed = await executeToolCalls({ messages: [QUESTION], tools }, answerWithCalls(['now'], ['then']))
      expect([executed.returnDirect, resultsIn(executed.results)]).toEqual([true, ['10:00', '11:00']])
    }),
  },
  {
    row: 10,
    says: 'several calls do not return directly where one of their tools does not',
    verdict: same(async () => {
      const tools = [tool('now', () => '10:00', direct), sun]
      for (const answer of [answerWithCalls(['now'], ['sun']), answerWithCalls(['sun'], ['now'])]) {
        const { returnDirect } = await executeToolCalls({ messages: [QUESTION], tools }, answer)
        expect(returnDirect).toBe(false)
      }
    }),
  },
  {
    row: 11,
    says: 'a tool that throws answers the model with the text of its error',
    verdict: different('only a ToolError is written for models; others are, under COMPAT=spring-ai', async () => {
      const tools = await carried(
        defineTool({ name: 'leaks', description: 'Leaks', input: v.object({}), run: () => fail(new Error('pw=1')) }),
        defineTool({ name: 'says', description: 'Says', input: v.object({}), run: () => fail(new ToolError('Full.')) }),
      )
      const scene = { script: [ask(['leaks'], ['says']), say('Sorry')], tools }
      const ours = await chat(scene)
      expect(resultsIn(ours.requests[1]?.messages)).toEqual(['The tool "leaks" failed.', 'Full.'])
      const theirs = await chat({ ...scene, vars: { COMPAT: 'spring-ai' } })
      expect(resultsIn(theirs.requests[1]?.messages)).toEqual(['pw=1', 'Full.'])
      expect([ours.answer, theirs.answer]).toEqual(['Sorry', 'Sorry'])
    }),
  },
  {
    row: 12,
    says: 'the span of a call stands under that of what asked for it',
    verdict: same(async () => {
      const runSpans: Span[] = []
      await play({
        script: [ask(['sun']), ask(['rain']), say('done')],
        tools: [sun, rain],
        loop: { observe: spans((span) => runSpans.push(span)) },
      })
      const placeOf = (id: string | undefined) => runSpans.findIndex(({ spanId }) => spanId === id)
      expect(runSpans.map(({ name, parentId }) => [name, placeOf(parentId)])).toEqual([
        ['chat scripted', 2],
        ['execute_tool sun', 2],
        ['step 1', 8],
        ['chat scripted', 5],
        ['execute_tool rain', 5],
        ['step 2', 8],
        ['chat scripted', 7],
        ['step 3', 8],
        ['invoke_agent', -1],
      ])
    }),
  },
  {
    row: 13,
    says: 'with a tool context, tools that read it and tools that do not both run',
    verdict: same(async () => {
      const tools = await carried(
        defineTool({
          name: 'who',
          description: 'Who',
          input: v.object({}),
          run: (_, { values }) => String(values['user']),
        }),
        defineTool({ name: 'what', description: 'What', input: v.object({}), run: () => 'that' }),
      )
      const { requests } = await chat({
        script: [ask(['who'], ['what']), say('done')],
        tools,
        body: { edgecall: { context: { user: 'Ada' } } },
      })
      expect(resultsIn(requests[1]?.messages)).toEqual(['Ada', 'that'])
      expect(requests[0]?.tools.map(({ inputSchema }) => inputSchema)).toEqual([
        { ...EMPTY, properties: {}, required: [] },
        { ...EMPTY, properties: {}, required: [] },
      ])
    }),
  },
]

function fail(error: Error): never {
  throw error
}
