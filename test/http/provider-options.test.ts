import { describe, expect, test } from 'vitest'
import { anthropic, type Env, fallingBack, gemini, makeSetup, type ModelProvider, openai } from 'edgecall'
import { type ModelCall, type ModelReply, startModelServer } from '../fixtures/model-server.ts'
import { recordedStreams } from '../fixtures/recorded.ts'
import { onTestFinished } from 'vitest'
import { keptEdge } from './kept-edge.ts'

const stream = (text = ''): ModelReply => ({ chunks: [text], end: 'close' })
const ANTHROPIC = recordedStreams('anthropic')
const CHAT = recordedStreams('openai-chat')
const GEMINI = recordedStreams('gemini')

const nobody = () => {
  throw new Error('nobody is there')
}
const STREAM = { accept: 'text/event-stream' }

/** An edge whose model is at a server of the test, and which lets callers set these options. */
async function optionsEdge(
  allowedOptions: string | undefined,
  provider: (baseUrl: string) => ModelProvider,
  reply: (call: ModelCall, index: number) => ModelReply,
) {
  const server = await startModelServer(reply)
  onTestFinished(() => server.close())
  const vars = {
    ...{ MODEL: 'probe/probe', AUTH: 'open', MODEL_WAIT_MS: '1' },
    ...(allowedOptions !== undefined && { PROVIDER_OPTIONS: allowedOptions }),
  }
  const objects = { CONVERSATIONS: { getByName: nobody }, DIRECTORIES: { getByName: nobody } }
  const env: Env = { ...objects, ...vars }
  const { models, config } = makeSetup(env, { providers: { probe: () => provider(server.baseUrl) } })
  const edge = keptEdge({ script: [], vars, setup: { models, config } })
  await edge.post('/conversations', { id: 'a' })
  return { ...edge, calls: server.calls }
}

const claude = (baseUrl: string) => anthropic({ baseUrl, cache: 'off' })

describe('options of a provider in a request', () => {
  test('are sent to the models of that provider alone, and change nothing that the edge writes itself', async () => {
    const edge = await optionsEdge(
      'anthropic.service_tier, anthropic.metadata,anthropic.max_tokens,acme.user',
      (baseUrl) => () => fallingBack([claude(baseUrl)('a'), openai({ baseUrl, provider: 'acme' })('b')]),
      (_, index) => (index === 0 ? { status: 404, body: {} } : stream(CHAT['text'])),
    )
    const providerOptions = {
      anthropic: { service_tier: 'standard_only', metadata: { user_id: 'u1' }, max_tokens: 1 },
      acme: { user: 'u2' },
    }
    const response = await edge.post('/runs', { input: 'Hi', providerOptions }, STREAM)
    expect(await response.text()).toContain('"status":"completed"')
    const [first, second] = edge.calls.map(({ body }) => body)
    expect(first).toMatchObject({ model: 'a', service_tier: 'standard_only', metadata: { user_id: 'u1' } })
    expect(first?.['max_tokens']).toBeGreaterThan(1)
    expect(second).toMatchObject({ model: 'b', user: 'u2' })
    expect([first && 'user' in first, second && 'service_tier' in second]).toEqual([false, false])
  })

  test('are added within an object that the edge writes, where it leaves them out', async () => {
    const edge = await optionsEdge(
      'gemini.generationConfig,gemini.safetySettings',
      (baseUrl) => gemini({ baseUrl }),
      () => stream(GEMINI['text']),
    )
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
    const generationConfig = { temperature: 2, responseLogprobs: true }
    const providerOptions = { gemini: { safetySettings, generationConfig } }
    const body = { input: 'Hi', sampling: { temperature: 0.5 }, providerOptions }
    await (await edge.post('/runs', body, STREAM)).text()
    expect(edge.calls[0]?.body).toMatchObject({
      safetySettings,
      generationConfig: { temperature: 0.5, responseLogprobs: true },
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    })
  })

  test('belong to the run: a later step of it sends the same, after it has waited', async () => {
    const edge = await optionsEdge('anthropic.service_tier', claude, (_, index) =>
      stream(ANTHROPIC[index === 0 ? 'call' : 'text']),
    )
    const clientTools = [{ name: 'weather', description: 'Weather', inputSchema: { type: 'object' } }]
    const providerOptions = { anthropic: { service_tier: 'standard_only' } }
    const response = await edge.post('/conversations/a/runs', { input: 'Hi', clientTools, providerOptions })
    const { id, calls }: any = await response.json()
    await edge.post(`/conversations/a/runs/${id}/calls/${calls[0].id}`, { json: {}, result: 'Rain' })
    await (await edge.fetch(`/conversations/a/runs/${id}/events`)).text()
    expect(edge.calls.map(({ body }) => body['service_tier'])).toEqual(['standard_only', 'standard_only'])
  })

  test.each([
    ['anthropic.service_tier,acme.user', 'anthropic.service_tier, acme.user'],
    [undefined, 'no options'],
  ])('that the operator has not allowed are refused, and nothing is started: %s', async (list, names) => {
    const edge = await optionsEdge(list, claude, () => stream(ANTHROPIC['text']))
    const providerOptions = { anthropic: { betas: ['x'] } }
    const response = await edge.post('/runs', { input: 'Hi', providerOptions })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        code: 'option_not_allowed',
        detail: `This edge does not allow "anthropic.betas". It allows ${names}.`,
        param: 'anthropic.betas',
      },
    ])
    expect(edge.calls).toEqual([])
  })

  test.each(['anthropic', 'anthropic.tools', 'openai.messages', 'gemini.systemInstruction', 'openai.a.b'])(
    'cannot be allowed if they are not of a provider, or would carry the prompt or tools: %s',
    async (list) => {
      await expect(optionsEdge(list, claude, () => stream())).rejects.toThrow('PROVIDER_OPTIONS must be a list of')
    },
  )
})
