import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createEdge } from 'edgecall'
import { everything } from 'edgecall/everything'
import { tool } from '../fixtures/play.ts'
import { workerOf } from './controlled-edge.ts'

/**
 * Usage as the server of a model reports it. A run that may use few tokens ends soon, whatever the figures are, and what
 * is counted are numbers.
 */

const VALUES: Readonly<Record<string, unknown>> = {
  negative: -1e6,
  'too large for a number of tokens': 1e308,
  'beyond whole numbers': 2 ** 53 + 2,
  'a text': '12',
  null: null,
  'a list': [5],
  'an object': { total: 5 },
  true: true,
}

const lines = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

const chatAnswer = (value: unknown) =>
  lines({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'c1', function: { name: 'look', arguments: '{}' } }] },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: value, completion_tokens: value, total_tokens: value },
  })

/** The answers of the servers, each with a call, by the name of the provider, given the value of each figure of usage. */
const ANSWERS: Readonly<Record<string, (value: unknown) => string>> = {
  openai: chatAnswer,
  'workers-ai': chatAnswer,
  responses: (value) =>
    lines({
      type: 'response.completed',
      response: {
        status: 'completed',
        output: [{ type: 'function_call', id: 'f1', call_id: 'c1', name: 'look', arguments: '{}' }],
        usage: { input_tokens: value, output_tokens: value, input_tokens_details: { cached_tokens: value } },
      },
    }),
  anthropic: (value) =>
    lines(
      { type: 'message_start', message: { usage: { input_tokens: value, cache_read_input_tokens: value } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c1', name: 'look', input: {} } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: value } },
      { type: 'message_stop' },
    ),
  gemini: (value) =>
    lines({
      candidates: [{ content: { parts: [{ functionCall: { name: 'look', args: {} } }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: value, candidatesTokenCount: value, thoughtsTokenCount: value },
    }),
}

const PREFIXES: Readonly<Record<string, string>> = {
  openai: 'OPENAI',
  responses: 'OPENAI',
  anthropic: 'ANTHROPIC',
  gemini: 'GEMINI',
}

/** Runs a model of a provider that asks for a call in each answer. Returns the run, and how often the model was asked. */
async function runWith(provider: string, value: unknown) {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  let requests = 0
  const type = { 'content-type': 'text/event-stream' }
  const answer = () => {
    requests += 1
    return ANSWERS[provider]?.(value)
  }
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { ...type, connection: 'close' }).end(answer()))
  })
  onTestFinished(() => {
    server.close()
    vi.restoreAllMocks()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const nobody = () => {
    throw new Error('This edge has no Durable Objects')
  }
  const env = {
    CONVERSATIONS: { getByName: nobody },
    DIRECTORIES: { getByName: nobody },
    AUTH: 'open',
    MODEL: `${provider}/test`,
    TOOL_LOOK: workerOf([tool('look')]),
    AI: { run: async () => new Response(answer(), { headers: type }) },
    [`${PREFIXES[provider]}_BASE_URL`]: url,
    [`${PREFIXES[provider]}_API_KEY`]: 'sk-the-key',
  }
  const json = { input: 'Go', limits: { tokens: 60 } }
  const response = await createEdge(everything).fetch(
    new Request('http://127.0.0.1:8787/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(json),
    }),
    env,
  )
  const body: any = await response.json()
  return { run: body.run ?? body, requests }
}

describe.each(Object.keys(ANSWERS))('usage that a server of %s reports', (provider) => {
  test.each([...Object.keys(VALUES), 'missing'])('as %s lifts no limit, and is counted as numbers', async (name) => {
    const { run, requests } = await runWith(provider, VALUES[name])
    expect(run.which).toBe('tokens')
    expect(requests).toBeLessThanOrEqual(8)
    const figures: unknown[] = Object.values(run.usage)
    expect(figures.every((each) => Number.isSafeInteger(each) && Number(each) >= 0)).toBe(true)
    expect(run.usage.inputTokens + run.usage.outputTokens).toBeGreaterThan(60)
  })
})
