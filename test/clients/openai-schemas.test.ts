import { Validator } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import schemas from '../fixtures/openai-schemas/chat-completions.json' with { type: 'json' }
import type { Script } from '../fixtures/scripted.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { dataOf, keptEdge } from '../http/kept-edge.ts'

const clock = tool('clock', () => '12:00')
const danger = tool('danger', () => 'boom', { approval: 'always' })
const direct = tool('direct', () => 'as it is', { returnDirect: 'always' })
const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 3, reasoningTokens: 2 }
const pick = { type: 'function', function: { name: 'pick', parameters: { type: 'object', properties: {} } } }
const format = { type: 'json_schema', json_schema: { name: 'any', schema: { type: 'object' } } }

function end(finish: 'length' | 'content_filter'): ModelEvent[] {
  return [
    { type: 'reasoning', text: 'Hmm.' },
    { type: 'text', text: 'It is' },
    { type: 'finish', finish, usage },
  ]
}

const SCENES: Readonly<Record<string, { script: readonly Script[]; body?: object; conversation?: string }>> = {
  'a text': { script: [say('Hello.')] },
  'a text without usage': {
    script: [
      [
        { type: 'text', text: 'Hi' },
        { type: 'finish', finish: 'stop' },
      ],
    ],
  },
  'nothing at all': { script: [[{ type: 'finish', finish: 'stop' }]], body: { stop: ['END'] } },
  'an answer after a call of the edge': { script: [ask(['clock']), say('Noon.')] },
  'every round': {
    script: [[{ type: 'text', text: 'I look.' }, ...ask(['clock'])], say('Noon.')],
    body: { edgecall: { rounds: 'all' } },
  },
  'calls of the caller': { script: [ask(['clock'], ['pick', { a: 1 }], ['pick', ''])], body: { tools: [pick] } },
  'reasoning, and too few tokens': { script: [end('length')] },
  'what was filtered': { script: [end('content_filter')] },
  'a limit': { script: [ask(['clock']), ask(['clock']), say('Enough.')], body: { edgecall: { limits: { steps: 1 } } } },
  'a result that is returned as it is': { script: [ask(['direct'])] },
  'a structure': { script: [say('{}')], body: { response_format: format } },
  'a run that waits for a person': { script: [ask(['danger'])], conversation: 'c1' },
  'a run that waits for a person and its caller': {
    script: [ask(['danger'], ['pick'])],
    body: { tools: [pick] },
    conversation: 'c1',
  },
}

type SchemaName = 'CreateChatCompletionResponse' | 'CreateChatCompletionStreamResponse'

/** What of a value does not fit a published schema. */
function misfits(name: SchemaName, value: unknown): string[] {
  const { errors } = new Validator({ ...schemas, $ref: `#/$defs/${name}` }, '2020-12', false).validate(value)
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`)
}

async function answer({ script, body, conversation }: (typeof SCENES)[string], rest: object): Promise<Response> {
  const edge = keptEdge({ script, tools: [clock, danger, direct] })
  const headers: Record<string, string> = conversation === undefined ? {} : { 'x-conversation-id': conversation }
  const messages = [{ role: 'user', content: 'Go on' }]
  const response = await edge.post('/v1/chat/completions', { messages, ...body, ...rest }, headers)
  expect(response.status).toBe(200)
  return response
}

describe.each(Object.entries(SCENES))('%s', (_name, scene) => {
  test('fits the published schema of complete responses', async () => {
    const completion = await (await answer(scene, {})).json()
    expect(misfits('CreateChatCompletionResponse', completion)).toEqual([])
  })

  test.each([true, false])('fits the published schema of each chunk, with usage: %s', async (include_usage) => {
    const response = await answer(scene, { stream: true, stream_options: { include_usage } })
    const chunks = dataOf(await response.text())
    expect(chunks.pop()).toBe('[DONE]')
    expect(chunks.length).toBeGreaterThan(1)
    expect(chunks.flatMap((chunk) => misfits('CreateChatCompletionStreamResponse', chunk))).toEqual([])
    // The convention that the schema has no words for.
    const last = chunks.at(-1) as { choices: unknown[]; usage?: object }
    expect([last.choices.length, 'usage' in last]).toEqual(include_usage ? [0, true] : [1, false])
  })
})

test('the published schemas reject what does not fit', async () => {
  const { choices: _, ...rest } = await (await answer({ script: [say('Hi.')] }, {})).json<Record<string, unknown>>()
  const choice = { index: 0, logprobs: null, finish_reason: 'done', message: { role: 'assistant', content: 'Hi.' } }
  expect(misfits('CreateChatCompletionResponse', rest)).not.toEqual([])
  expect(misfits('CreateChatCompletionResponse', { ...rest, choices: [choice] })).not.toEqual([])
  expect(misfits('CreateChatCompletionStreamResponse', { ...rest, choices: [] })).not.toEqual([])
})
