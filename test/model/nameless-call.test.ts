import { afterEach, describe, expect, test } from 'vitest'
import type { ChatModel } from '../../src/contract/model.ts'
import { anthropic } from '../../src/model/anthropic.ts'
import { gemini } from '../../src/model/gemini.ts'
import { openai } from '../../src/model/openai.ts'
import { responses } from '../../src/model/responses.ts'
import { type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { play, tool } from '../fixtures/play.ts'

const servers: ModelServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** A run of the model behind a server that answers with these bodies, one a step; and what the server was sent. */
async function played(bodies: readonly object[], make: (baseUrl: string) => ChatModel) {
  const server = await startModelServer((_, index) => ({ body: bodies[index] }))
  servers.push(server)
  const model = make(server.baseUrl)
  const script = bodies.map(() => model.stream.bind(model))
  const { state } = await play({ script, tools: [tool('clock', ({ zone }) => `noon in ${String(zone)}`)] })
  return { answer: state.finished, sent: server.calls.map(({ body }) => body) }
}

const chatAnswer = (message: object, finish_reason: string) => ({ choices: [{ message, finish_reason }] })
const CALLING = '{"zone":"UTC"}'

describe('a call without a name', () => {
  test.each<[format: string, make: (baseUrl: string) => ChatModel, call: object, words: object]>([
    [
      'Chat Completions',
      (baseUrl) => openai({ baseUrl })('probe'),
      chatAnswer({ tool_calls: [{ id: 'call_a', type: 'function', function: { arguments: CALLING } }] }, 'tool_calls'),
      chatAnswer({ content: 'Sorry.' }, 'stop'),
    ],
    [
      'the function_call of older servers',
      (baseUrl) => openai({ baseUrl })('probe'),
      chatAnswer({ function_call: { arguments: CALLING } }, 'function_call'),
      chatAnswer({ content: 'Sorry.' }, 'stop'),
    ],
    [
      'Anthropic’s format',
      (baseUrl) => anthropic({ baseUrl })('probe'),
      { type: 'message', content: [{ type: 'tool_use', id: 'a', input: { zone: 'UTC' } }], stop_reason: 'tool_use' },
      { type: 'message', content: [{ type: 'text', text: 'Sorry.' }], stop_reason: 'end_turn' },
    ],
    [
      'Gemini’s format',
      (baseUrl) => gemini({ baseUrl })('probe'),
      { candidates: [{ content: { parts: [{ functionCall: { args: { zone: 'UTC' } } }] }, finishReason: 'STOP' }] },
      { candidates: [{ content: { parts: [{ text: 'Sorry.' }] }, finishReason: 'STOP' }] },
    ],
    [
      'the Responses API',
      (baseUrl) => responses({ baseUrl })('probe'),
      {
        object: 'response',
        status: 'completed',
        output: [{ type: 'function_call', call_id: 'a', arguments: CALLING, status: 'completed' }],
      },
      {
        object: 'response',
        status: 'completed',
        output: [{ type: 'message', content: [{ type: 'output_text', text: 'Sorry.' }] }],
      },
    ],
  ])('in %s is answered with what is wrong, and the run goes on', async (_, make, call, words) => {
    const { answer, sent } = await played([call, words], make)
    expect(answer).toMatchObject({ status: 'completed', answer: 'Sorry.' })
    const told = JSON.stringify(sent[1])
    expect(told).toContain(String.raw`The call names no tool. Call one that is on offer, such as \"clock\".`)
    // Servers refuse a history in which a call has no name.
    expect(told).toContain('"name":"unnamed"')
    expect(told).not.toContain('"name":""')
  })
})

test('a call in the function_call of older servers is made', async () => {
  const { answer, sent } = await played(
    [
      chatAnswer({ content: null, function_call: { name: 'clock', arguments: CALLING } }, 'function_call'),
      chatAnswer({ content: 'Noon.' }, 'stop'),
    ],
    (baseUrl) => openai({ baseUrl })('probe'),
  )
  expect(answer).toMatchObject({ status: 'completed', answer: 'Noon.' })
  expect(JSON.stringify(sent[1])).toContain('noon in UTC')
})
