import * as v from 'valibot'
import { expect } from 'vitest'
import type { CallFault } from '../../../src/contract/hook.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { type DefinedTool, defineTool, ToolError } from '../../../src/tool.ts'
import { ask, play, say } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { answerWithCalls, carried, chat, native, QUESTION, resultsIn } from '../scene.ts'

const input = v.object({})

/** A tool that throws this. */
function throwing(error: unknown, name = 'toolName'): DefinedTool {
  return defineTool({
    name,
    description: 'Throws',
    input,
    run: () => {
      throw error
    },
  })
}

/** What a model reads of this error, their way. */
async function theirs(error: unknown): Promise<string | undefined> {
  const { requests } = await chat({
    script: [ask(['toolName']), say('Sorry')],
    tools: await carried(throwing(error)),
    body: { edgecall: { compat: 'spring-ai' } },
  })
  return resultsIn(requests[1]?.messages)[0]
}

/** Rows 81 to 88: what becomes of errors, and the shapes that tools have. */
export const faults: readonly Row[] = [
  {
    row: 81,
    says: 'an error is told to the model by its message',
    verdict: same(async () => {
      expect(await theirs(new Error('The database is down'))).toBe('The database is down')
      expect(await theirs(new TypeError('a: b'))).toBe('a: b')
      expect(await theirs(new Error('two\nlines'))).toBe('two\nlines')
    }),
  },
  {
    row: 82,
    says: 'an error without a message is told by its tool and its kind',
    verdict: same(async () => {
      expect(await theirs(new TypeError())).toBe('Exception occurred in tool: toolName (TypeError)')
      // As workerd writes it, without a colon.
      const bare = Object.assign(new TypeError(), { stack: 'TypeError\n    at run (index.js:1:2)' })
      expect(await theirs(bare)).toBe('Exception occurred in tool: toolName (TypeError)')
      expect(await theirs(new RangeError('   '))).toBe('Exception occurred in tool: toolName (RangeError)')
    }),
  },
  {
    row: 83,
    says: 'a run can be told to fail with the first error of a tool',
    verdict: same(async () => {
      const { json, requests } = await native({
        script: [ask(['toolName'])],
        tools: await carried(throwing(new ToolError('Out of paper.', { code: 'no_paper' }))),
        body: { toolErrors: 'fail' },
      })
      expect(json).toMatchObject({
        status: 502,
        code: 'no_paper',
        detail: 'Out of paper.',
        run: { status: 'failed', finish: 'error', calls: [{ tool: 'toolName', ok: false }] },
      })
      expect(requests).toHaveLength(1)
    }),
  },
  {
    row: 84,
    says: 'some errors may fail the run, while others are told to the model',
    verdict: same(async () => {
      const tools = [
        ...(await carried(throwing(new ToolError('Sign in again.', { code: 'unauthorised' }), 'secret'))),
        ...(await carried(throwing(new ToolError('Try later.', { code: 'busy' }), 'slow'))),
        ...(await carried(throwing(new ToolError('The disk is gone.', { code: 'gone', fatal: true }), 'disk'))),
      ]
      const onFault = ({ code }: CallFault) => (code === 'unauthorised' ? { fatal: true } : undefined)
      const ended = async (...names: string[]) => {
        const script = [...names.map((name) => ask([name])), say('done')]
        const { finished } = (await play({ script, tools, loop: { onFault } })).state
        return finished?.error ?? finished?.answer
      }
      expect(await ended('slow')).toBe('done')
      expect(await ended('slow', 'secret')).toEqual({ code: 'unauthorised', message: 'Sign in again.' })
      expect(await ended('disk')).toEqual({ code: 'gone', message: 'The disk is gone.' })
    }),
  },
  {
    row: 85,
    says: 'errors of the graver kinds fail the run',
    verdict: different('JavaScript has no such kinds: only what a tool marks as fatal does', async () => {
      const tools = await carried(
        throwing(new SyntaxError('one'), 'one'),
        throwing('two', 'two'),
        throwing({ three: 3 }, 'three'),
        throwing(undefined, 'four'),
      )
      const { answer, json } = await chat({
        script: [ask(['one'], ['two'], ['three'], ['four']), say('Sorry')],
        tools,
        vars: { COMPAT: 'spring-ai' },
      })
      expect([answer, json.edgecall.calls.map(({ ok }) => ok)]).toEqual(['Sorry', [false, false, false, false]])
    }),
  },
  {
    row: 86,
    says: 'a tool may take arguments or none, want its context or not, and return something or nothing',
    verdict: same(async () => {
      const city = v.object({ city: v.string() })
      const inputs: string[] = []
      const described = { description: 'Test tool' }
      const tools = await carried(
        defineTool({ ...described, name: 'supplier', input, run: () => 'sun' }),
        defineTool({ ...described, name: 'consumer', input: city, run: (it) => void inputs.push(it.city) }),
        defineTool({ ...described, name: 'function', input: city, run: (it) => `sun in ${it.city}` }),
        defineTool({
          ...described,
          name: 'both',
          input: city,
          run: (it, { values }) => `sun in ${it.city} for ${String(values['user'])}`,
        }),
      )
      const args = { city: 'Rome' }
      const answer = answerWithCalls(['supplier'], ['consumer', args], ['function', args], ['both', args])
      const { results } = await executeToolCalls({ messages: [QUESTION], tools, context: { user: 'Ada' } }, answer)
      expect([resultsIn(results), inputs]).toEqual([['sun', 'Success', 'sun in Rome', 'sun in Rome for Ada'], ['Rome']])
    }),
  },
  {
    row: 87,
    says: 'an error that is made for it goes on as it is, any other as one of the tool',
    verdict: same(async () => {
      const observed: object[] = []
      await play({
        script: [ask(['made'], ['other']), say('Sorry')],
        tools: await carried(
          throwing(new ToolError('Full.', { code: 'full', retryable: true }), 'made'),
          throwing(new Error('pw=1'), 'other'),
        ),
        loop: {
          onFault: ({ detail: _detail, callId: _callId, ...fault }) => void observed.push(fault),
        },
      })
      expect(observed).toEqual([
        { code: 'full', message: 'Full.', retryable: true, tool: 'made', arguments: '{}' },
        { code: 'tool_failed', message: 'The tool "other" failed.', tool: 'other', arguments: '{}' },
      ])
    }),
  },
  {
    row: 88,
    says: 'an empty text is an argument like any other',
    verdict: different('arguments are an object to every model, so a lone text is a field of one', async () => {
      const inputs: string[] = []
      const tools = await carried(
        defineTool({ name: 'note', description: 'Notes', input: v.string(), run: (text) => void inputs.push(text) }),
      )
      expect(tools[0]?.definition.inputSchema).toEqual({
        type: 'object',
        properties: { input: { type: 'string' } },
        required: ['input'],
      })
      await executeToolCalls(
        { messages: [QUESTION], tools },
        answerWithCalls(['note', { input: '' }], ['note', '{"input":"a"}']),
      )
      expect(inputs).toEqual(['', 'a'])
    }),
  },
]
