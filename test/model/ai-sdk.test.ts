import { describe, expect, test } from 'vitest'
import type { ChatModel, ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { type AiSdkModel, fromAiSdk } from '../../src/model/ai-sdk.ts'
import type { Speech } from '../fixtures/model-server.ts'
import { modelSuite, type Scene } from '../suites/model.ts'

const NEVER = new AbortController().signal
const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }

async function gather(model: ChatModel): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(REQUEST, NEVER)) events.push(event)
  return events
}

const REASONS = { stop: 'stop', length: 'length', content_filter: 'content-filter', tool_calls: 'tool-calls' } as const

/** An answer in the parts of a version. */
function partsOf({ reasoning, text, calls = [], finish, usage }: Speech, version: string): object[] {
  const streamedBlock = (type: string, delta: string) => [
    { type: `${type}-start`, id: type },
    ...(delta.match(/\S+\s*/g) ?? []).map((word) => ({ type: `${type}-delta`, id: type, delta: word })),
    { type: `${type}-end`, id: type },
  ]
  const reason = REASONS[finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')]
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage ?? {}
  return [
    { type: 'stream-start', warnings: [] },
    ...(reasoning === undefined ? [] : streamedBlock('reasoning', reasoning)),
    ...(text === undefined ? [] : streamedBlock('text', text)),
    ...calls.flatMap(({ tool, arguments: input }, index) => [
      { type: 'tool-input-start', id: `toolu_${index}`, toolName: tool },
      { type: 'tool-input-delta', id: `toolu_${index}`, delta: input.slice(0, input.length >> 1) },
      { type: 'tool-input-delta', id: `toolu_${index}`, delta: input.slice(input.length >> 1) },
      { type: 'tool-input-end', id: `toolu_${index}` },
      { type: 'tool-call', toolCallId: `toolu_${index}`, toolName: tool, input },
    ]),
    {
      type: 'finish',
      finishReason: version === 'v2' ? reason : { unified: reason, raw: reason },
      usage:
        version === 'v2'
          ? { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, totalTokens: undefined }
          : {
              inputTokens: {
                total: inputTokens,
                noCache: undefined,
                cacheRead: cachedInputTokens,
                cacheWrite: undefined,
              },
              outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens },
            },
    },
  ]
}

/** A provider's error, as the AI SDK's `APICallError` looks. */
function callError(statusCode: number, message: string): Error {
  return Object.assign(new Error(message), { name: 'AI_APICallError', statusCode, isRetryable: statusCode >= 500 })
}

interface Stand {
  readonly version: string
  readonly parts: readonly object[]
  readonly end?: 'close' | 'cut' | 'hang'
  readonly refusal?: Error
}

interface StandIn extends AiSdkModel {
  readonly calls: object[]
}

function standIn({ version, parts, end = 'close', refusal }: Stand): StandIn {
  const calls: object[] = []
  return {
    specificationVersion: version,
    provider: 'test.chat',
    modelId: 'probe',
    calls,
    doStream: (options) => {
      calls.push(options)
      if (refusal) return Promise.reject(refusal)
      const rest = [...parts]
      const stream = new ReadableStream<object>({
        pull: (controller) => {
          const part = rest.shift()
          if (part) return controller.enqueue(part)
          if (end === 'close') return controller.close()
          if (end === 'cut') return controller.error(new TypeError('terminated'))
          return new Promise(() => {})
        },
      })
      return Promise.resolve({ stream })
    },
  }
}

function stand(scene: Scene, version: string): Stand {
  const firstEvents = partsOf({ text: 'It is noon.' }, version).slice(0, 3)
  if (scene === 'refused') return { version, parts: [], refusal: callError(400, 'No.') }
  if (scene === 'cut' || scene === 'endless')
    return { version, parts: firstEvents, end: scene === 'cut' ? 'cut' : 'hang' }
  return { version, parts: partsOf(scene, version) }
}

for (const version of ['v2', 'v3', 'v4']) {
  modelSuite(`the AI SDK, specification ${version}`, (scene) => {
    const model = standIn(stand(scene, version))
    const lastRequest = () => model.calls.at(-1)
    return Promise.resolve({ model: fromAiSdk(model), lastRequest, close: () => Promise.resolve() })
  })
}

test('a request of an AI SDK model is one doStream with the options of its provider', async () => {
  const model = standIn({ version: 'v3', parts: partsOf({ text: 'Hello.' }, 'v3') })
  const chat = fromAiSdk(model, { providerOptions: { openai: { store: false } } })
  expect(await gather(chat)).toEqual([
    { type: 'text', text: 'Hello.' },
    { type: 'finish', finish: 'stop' },
  ])
  expect(model.calls).toEqual([
    {
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      providerOptions: { openai: { store: false } },
      abortSignal: expect.any(AbortSignal),
    },
  ])
})

test('an AI SDK model is named after its provider and id unless a name is given', () => {
  const model = standIn({ version: 'v4', parts: [] })
  expect([fromAiSdk(model).name, fromAiSdk(model, { name: 'my/model' }).name]).toEqual(['test/probe', 'my/model'])
})

test.each(['v1', 'v5', ''])('an AI SDK model of specification "%s" is refused', (version) => {
  expect(() => fromAiSdk(standIn({ version, parts: [] }))).toThrow('Expected an AI SDK model of specification v2 to v4')
})

describe('an AI SDK model that fails', () => {
  const errorOf = async (options: Partial<Stand>, times = {}) => {
    const end = (await gather(fromAiSdk(standIn({ version: 'v3', parts: [], ...options }), times))).at(-1)
    return end?.type === 'error' ? end.error : end
  }

  test('by connection, missing tool support or rate is reported as such', async () => {
    expect(await errorOf({ refusal: new TypeError('fetch failed') })).toMatchObject({ code: 'model_unreachable' })
    expect(await errorOf({ refusal: callError(400, 'probe does not support tools') })).toMatchObject({
      code: 'model_without_tools',
      message: 'The model test/probe cannot call tools: probe does not support tools',
    })
    expect(await errorOf({ end: 'hang' }, { firstByteMs: 10 })).toMatchObject({ code: 'model_timeout' })
  })

  test('closes its stream', async () => {
    let abortReason: unknown
    const model: AiSdkModel = {
      ...standIn({ version: 'v3', parts: [] }),
      doStream: () => {
        const parts = [{ type: 'error', error: 'overloaded' }]
        const stream = new ReadableStream<object>({
          pull: (controller) => controller.enqueue(parts.shift() ?? { type: 'raw' }),
          cancel: () => void (abortReason = true),
        })
        return Promise.resolve({ stream })
      },
    }
    expect(await gather(fromAiSdk(model))).toEqual([
      { type: 'error', error: { code: 'model_unavailable', message: 'overloaded', retryable: true } },
    ])
    expect(abortReason).toBe(true)
  })
})
