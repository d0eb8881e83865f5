import * as v from 'valibot'
import { expect } from 'vitest'
import type { LoopSetup } from '../../../src/contract/hook.ts'
import type { Tool } from '../../../src/contract/tool.ts'
import { defineTool, ToolError } from '../../../src/tool.ts'
import { testEdge } from '../../fixtures/edge.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { keptEdge } from '../../http/kept-edge.ts'
import { different, type Row, same } from '../rows.ts'
import { carried, chat, chatStream, native, QUESTION, resultsIn } from '../scene.ts'
import { COMPAT, misfit, telling, THEIRS, throwing } from './scene.ts'

const UNKNOWN =
  "The LLM is trying to execute the 'nosuch' tool, but no such tool exists. Most likely, it is a hallucination. " +
  'You can override this default strategy by setting the hallucinatedToolNameStrategy on the AiService'

async function counter(): Promise<readonly Tool[]> {
  const input = v.object({ i: v.number() })
  return carried(defineTool({ name: 'tool', description: 'Tool', input, run: ({ i }) => i + 1 }))
}

interface Fault {
  readonly says: string
  readonly call: readonly [tool: string, args?: object | string]
  readonly error?: unknown
  readonly loop?: LoopSetup
  /** What the model reads of it; or, of one that ends the run, its code and message. */
  readonly reply?: string
  readonly ends?: readonly [code: string, message: unknown]
}

const NOT_JSON = expect.stringContaining('The arguments of "tool" are not a JSON object: ')

/** What becomes of faults under their defaults, and where the application says otherwise. */
const FAULTS: readonly Fault[] = [
  { says: 'its message', call: ['broken'], error: new Error('Disk full'), reply: 'Disk full' },
  { says: 'its kind', call: ['broken'], error: new RangeError(), reply: 'RangeError' },
  {
    says: 'a text of the application',
    call: ['broken'],
    error: new Error('Disk full'),
    loop: telling({ tool_failed: 'Try later' }),
    reply: 'Try later',
  },
  {
    says: 'an end of the run',
    call: ['broken'],
    error: new Error('Disk full'),
    loop: { onFault: ({ code }) => ({ fatal: code === 'tool_failed' }) },
    ends: ['tool_failed', 'Disk full'],
  },
  { says: 'no JSON ends the run', call: ['tool', '{ invalid JSON }'], ends: ['invalid_arguments', NOT_JSON] },
  {
    says: 'no number ends the run',
    call: ['tool', { i: 'x' }],
    ends: ['invalid_arguments', misfit('i: expected number, received "x"')],
  },
  {
    says: 'a text of the application, after which the model tries again',
    call: ['tool', { i: 'x' }],
    loop: { onFault: () => ({ message: 'Numbers, please', fatal: false }) },
    reply: 'Numbers, please',
  },
  {
    says: 'a text alone of the application, after which the model tries again',
    call: ['tool', { i: 'x' }],
    loop: telling({ invalid_arguments: 'No numbers' }),
    reply: 'No numbers',
  },
  {
    says: "the application's own words for the end",
    call: ['tool', { i: 'x' }],
    loop: { onFault: () => ({ message: 'No numbers', fatal: true }) },
    ends: ['invalid_arguments', 'No numbers'],
  },
]

/** Rows 55 to 60: what becomes of calls that fail. */
export const faults: readonly Row[] = [
  {
    row: 55,
    says: 'a failed call is told, in whose words the application says, or ends the run; one by one and at once',
    verdict: different('by default nothing of an exception is told; this is so under COMPAT=langchain4j', async () => {
      for (const { says, call, error, loop, reply, ends } of FAULTS) {
        for (const concurrent of ['1', '8']) {
          const tools = [...(await counter()), await throwing(error)]
          const scene = {
            script: [ask([...call]), say('sorry')],
            tools,
            vars: { ...COMPAT, MAX_CONCURRENT_CALLS: concurrent },
            ...(loop && { setup: { loop } }),
          }
          const { status, json, requests } = await chat(scene)
          if (ends) expect([says, status, json.error.code, json.error.message]).toEqual([says, 502, ...ends])
          else expect([says, status, resultsIn(requests[1]?.messages)]).toEqual([says, 200, [reply]])
        }
      }
    }),
  },
  {
    row: 56,
    says: 'the same in a stream',
    verdict: different('by default nothing of an exception is told; this is so under COMPAT=langchain4j', async () => {
      for (const { says, call, error, loop, reply, ends } of FAULTS) {
        const scene = {
          script: [ask([...call]), say('sorry')],
          tools: [...(await counter()), await throwing(error)],
          vars: COMPAT,
          ...(loop && { setup: { loop } }),
        }
        const { chunks, texts, requests } = await chatStream(scene)
        const failed = chunks.at(-1)?.error
        if (ends) expect([says, failed?.code, failed?.message]).toEqual([says, ...ends])
        else expect([says, texts, resultsIn(requests[1]?.messages)]).toEqual([says, ['sorry'], [reply]])
      }
    }),
  },
  {
    row: 57,
    says: 'an exception is logged with its cause, unless the application handles errors itself',
    verdict: different('operators read of it in either case', async () => {
      for (const loop of [{}, telling({ tool_failed: 'Try later' })]) {
        const tools = [await throwing(new Error('The disk is full'))]
        const edge = testEdge({ script: [ask(['broken']), say('sorry')], tools, setup: { loop } })
        await edge.ask('/runs', { json: { input: 'Hello' } })
        expect(edge.reports).toEqual([
          {
            event: 'call.failed',
            runId: expect.any(String),
            callId: expect.any(String),
            tool: 'broken',
            code: 'tool_failed',
            attempts: 1,
            durationMs: expect.any(Number),
            detail: expect.stringContaining('Error: The disk is full'),
          },
        ])
      }
    }),
  },
  {
    row: 58,
    says: 'a handler gets the exception itself, and what is told apart from its cause',
    verdict: same(async () => {
      const raw = new Error('outer', { cause: new Error('inner') })
      const inputs: unknown[] = []
      const tools = await carried(
        defineTool({
          name: 'tool',
          description: 'Tool',
          input: v.object({}),
          run: () => {
            throw raw
          },
          onError: (error) => {
            inputs.push(error)
            return new ToolError('It failed', { cause: error })
          },
        }),
      )
      const edge = testEdge({ script: [ask(['tool']), say('sorry')], tools })
      await edge.ask('/v1/chat/completions', { json: { messages: [QUESTION] } })
      expect(inputs[0]).toBe(raw)
      expect(resultsIn(edge.requests[1]?.messages)).toEqual(['It failed'])
      expect(edge.reports).toMatchObject([{ code: 'tool_error', detail: expect.stringContaining('Error: outer') }])
    }),
  },
  {
    row: 59,
    says: 'a tool that does not exist fails the request, unless the application answers for it; in a stream too',
    verdict: different(
      'the model reads which tools there are; only under COMPAT=langchain4j the run fails',
      async () => {
        const script = [ask(['nosuch']), say('I cannot')]
        const tools = [tool('add')]
        const { answer, requests } = await chat({ script, tools })
        expect([answer, resultsIn(requests[1]?.messages)]).toEqual([
          'I cannot',
          ['There is no tool "nosuch". Call one that is on offer, such as "add".'],
        ])
        const theirs = await chat({ script, tools, vars: COMPAT })
        expect([theirs.status, theirs.json.error]).toMatchObject([502, { code: 'unknown_tool', message: UNKNOWN }])
        const streamed = await chatStream({ script, tools, body: { edgecall: { compat: THEIRS } } })
        expect(streamed.chunks.at(-1)?.error).toMatchObject({ code: 'unknown_tool', message: UNKNOWN })
        const loop: LoopSetup = { onFault: ({ tool: name }) => ({ message: `No ${name} here`, fatal: false }) }
        for (const ways of [chat, chatStream]) {
          const handled = await ways({ script, tools, vars: COMPAT, setup: { loop } })
          expect(resultsIn(handled.requests[1]?.messages)).toEqual(['No nosuch here'])
        }
        const edge = keptEdge({ script: [...script, say('Hello again')], tools })
        await edge.post('/conversations', { id: 'c' })
        for (const input of ['Go', 'Hello']) await edge.post('/conversations/c/runs', { input })
        expect(edge.requests[2]?.messages.map(({ role }) => role)).toEqual([
          'user',
          'assistant',
          'tool',
          'assistant',
          'user',
        ])
      },
    ),
  },
  {
    row: 60,
    says: 'too many rounds end the run, and it is said how many there may be',
    verdict: different(
      'by default one last answer; the text is theirs under COMPAT=langchain4j, as are 100 rounds',
      async () => {
        const repeat = ask(['add'])
        const tools = [tool('add')]
        const kind = await native({ script: [repeat, repeat, say('so far')], tools, body: { limits: { steps: 1 } } })
        expect(kind.json).toMatchObject({ status: 'completed', finish: 'limit', which: 'steps', answer: 'so far' })
        const vars = { ...COMPAT, MAX_STEPS: '2' }
        const text = (most: number) =>
          `Something is wrong, exceeded ${most} tool calling round trips (maxToolCallingRoundTrips)`
        const { status, json } = await chat({ script: [repeat, repeat, repeat], tools, vars })
        expect([status, json.error]).toMatchObject([422, { code: 'limit_reached', message: text(2) }])
        const streamed = await chatStream({ script: [repeat, repeat, repeat], tools, vars })
        expect(streamed.chunks.at(-1)?.error).toMatchObject({ code: 'limit_reached', message: text(2) })
        const many = await native({ script: Array.from({ length: 101 }, () => repeat), tools, vars: COMPAT })
        expect([many.json.run?.error?.message, many.requests.length]).toEqual([text(100), 101])
      },
    ),
  },
]
