import { ModelWindows } from '../../src/model/windows.ts'
import { describe, expect, test } from 'vitest'
import type { ChatModel, ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { Usage } from '../../src/contract/usage.ts'
import { modelChooser } from '../../src/model/choose.ts'
import { type AiBinding, workersAi } from '../../src/model/workers-ai.ts'
import { chunksOf, type Speech, withoutQuotes } from '../fixtures/model-server.ts'
import { modelSuite, type Scene, type Staged } from '../suites/model.ts'

const NEVER = new AbortController().signal
const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }

async function gather(model: ChatModel): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(REQUEST, NEVER)) events.push(event)
  return events
}

/** An answer in the platform's own form: words one by one, calls whole. */
function nativeChunks({ text, calls = [], usage }: Speech): (object | string)[] {
  const words = (text?.match(/\S+\s*/g) ?? []).map((response) => ({ response }))
  const items = calls.map(({ tool, arguments: args }) => ({ name: tool, arguments: args }))
  return [
    ...words,
    ...(items.length > 0 ? [withoutQuotes(JSON.stringify({ response: '', tool_calls: items }), calls)] : []),
    { response: '', ...(usage && { usage: usageOf(usage) }) },
  ]
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}

/** An event stream of these chunks, which ends as the binding's do: with `[DONE]`, with an error, or not before `signal`. */
function streamOf(
  chunks: readonly (object | string)[],
  end: 'done' | 'cut' | 'hang',
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const pieces = chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
  if (end === 'done') pieces.push('data: [DONE]\n\n')
  return new ReadableStream({
    pull: async (controller) => {
      const piece = pieces.shift()
      if (piece !== undefined) return controller.enqueue(new TextEncoder().encode(piece))
      if (end === 'done') return controller.close()
      if (end === 'hang' && !signal.aborted) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      }
      controller.error(new Error('Network connection lost.'))
    },
  })
}

interface Binding extends AiBinding {
  /** The last inputs. */
  readonly lastInputs: () => unknown
}

function bindingFor(scene: Scene, chunksFor: (speech: Speech) => (object | string)[], isRaw: boolean): Binding {
  let lastInputs: unknown
  return {
    lastInputs: () => lastInputs,
    run: (_, inputs, { signal }) => {
      lastInputs = inputs
      if (scene === 'refused') {
        const refusal = { internalCode: 5004, name: 'Invalid data', message: 'AiError', description: 'Invalid data' }
        if (!isRaw) return Promise.reject(new Error('5004: Invalid data'))
        return Promise.resolve(Response.json(refusal, { status: 400 }))
      }
      const isCut = scene === 'cut' || scene === 'endless'
      const chunks = isCut ? chunksFor({ text: 'It is noon.' }).slice(0, 2) : chunksFor(scene)
      const stream = streamOf(chunks, scene === 'cut' ? 'cut' : scene === 'endless' ? 'hang' : 'done', signal)
      const headers = { 'content-type': 'text/event-stream' }
      return Promise.resolve(isRaw ? new Response(stream, { headers }) : stream)
    },
  }
}

const isNative = (scene: Scene): boolean => typeof scene === 'string' || !(scene.reasoning || scene.finish)

// The platform's own form has no word for reasoning; what has one is said in the other form.
modelSuite('Workers AI, its own form', (scene) => {
  const binding = bindingFor(scene, isNative(scene) ? nativeChunks : chunksOf, true)
  return Promise.resolve({ ...stagedOn(binding), form: { streamedArguments: false } })
})

modelSuite('Workers AI, as Chat Completions', (scene) => Promise.resolve(stagedOn(bindingFor(scene, chunksOf, true))))

modelSuite('Workers AI without raw responses', (scene) => Promise.resolve(stagedOn(bindingFor(scene, chunksOf, false))))

function stagedOn(binding: Binding): Staged {
  return {
    model: workersAi(binding)('@cf/test/probe'),
    lastRequest: binding.lastInputs,
    close: () => Promise.resolve(),
  }
}

test('the options of a request are added to the inputs, of which none is replaced', async () => {
  const calls: object[] = []
  const binding: AiBinding = {
    run: async (_, inputs) => {
      calls.push(inputs)
      return Response.json({ response: 'Hi' })
    },
  }
  const providerOptions = { 'workers-ai': { lora: 'friendly', messages: [] }, openai: { user: 'u1' } }
  const model = workersAi(binding)('@cf/test/probe')
  for await (const event of model.stream({ ...REQUEST, providerOptions }, NEVER)) expect(event.type).not.toBe('error')
  expect(calls).toEqual([{ messages: [{ role: 'user', content: 'Hi' }], lora: 'friendly', stream: true }])
})

test('the type of the runtime’s binding fits', () => {
  const nameOfModel = (ai: Ai) => workersAi(ai)('@cf/test/probe').name
  expect(nameOfModel.length).toBe(1)
})

test('a request to Workers AI is one run of the model, through the named gateway', async () => {
  const runs: unknown[][] = []
  const binding: AiBinding = {
    run: (...args) => {
      runs.push(args)
      return Promise.resolve({ response: 'Hello.', usage: { prompt_tokens: 1, completion_tokens: 2 } })
    },
  }
  const model = workersAi(binding, { gateway: 'main' })('@cf/test/probe')
  expect(model.name).toBe('workers-ai/@cf/test/probe')
  expect(await gather(model)).toEqual([
    { type: 'text', text: 'Hello.' },
    { type: 'finish', finish: 'stop', usage: { inputTokens: 1, outputTokens: 2 } },
  ])
  expect(runs).toEqual([
    [
      '@cf/test/probe',
      { messages: [{ role: 'user', content: 'Hi' }], stream: true },
      { returnRawResponse: true, signal: expect.any(AbortSignal), gateway: { id: 'main' } },
    ],
  ])
})

describe('a refusal by Workers AI', () => {
  const errorOf = async (run: () => Promise<unknown>) => {
    const [event] = await gather(workersAi({ run })('@cf/test/probe'))
    return event?.type === 'error' ? event.error : event
  }

  test.each([
    ['5007: No such model @cf/x or task', { code: 'model_not_found', status: 404, retryable: false }],
    ['3040: Capacity temporarily exceeded', { code: 'model_rate_limited', status: 429, retryable: true }],
    ['3007: Request timeout', { code: 'model_unavailable', status: 408, retryable: true }],
    ['5004: Invalid data', { code: 'model_refused_request', status: 400, retryable: false }],
    ['5999: It does not support tools', { code: 'model_without_tools', status: 400, retryable: false }],
  ])('that was thrown as "%s" becomes an error', async (message, error) => {
    const errorText = message.slice(6)
    const expected =
      error.code === 'model_without_tools'
        ? `The model workers-ai/@cf/test/probe cannot call tools: ${errorText}`
        : errorText
    expect(await errorOf(() => Promise.reject(new Error(message)))).toEqual({ ...error, message: expected })
  })

  test('in a response keeps its reason and status', async () => {
    const body = {
      internalCode: 3036,
      name: 'Account limited',
      message: 'AiError',
      description: 'You have used it up.',
    }
    expect(await errorOf(() => Promise.resolve(Response.json(body, { status: 429 })))).toEqual({
      code: 'model_quota_exceeded',
      message: 'You have used it up.',
      status: 429,
      retryable: false,
    })
  })

  test('from elsewhere is reported as unreachable', async () => {
    expect(await errorOf(() => Promise.reject(new Error('Binding AI needs to be run remotely')))).toMatchObject({
      code: 'model_unreachable',
      retryable: true,
    })
  })
})

describe('the windows of models', () => {
  const SCOUT = '@cf/meta/llama-4-scout-17b-16e-instruct'

  /** The window of a model after a first request, with a binding that lists its models in this way. */
  async function windowAfter(name: string, models?: AiBinding['models']): Promise<unknown> {
    const run = () => Promise.resolve(Response.json({ response: 'Hi.' }))
    const provider = workersAi(models ? { run, models } : { run })
    const providers = { 'workers-ai': provider }
    const windows = new ModelWindows({}, providers)
    const chooser = modelChooser({ providers, defaultModel: `workers-ai/${name}`, windows })
    const first = chooser.resolve()
    if (!first.ok) throw new Error(first.message)
    expect((await gather(first.model)).map(({ type }) => type)).toEqual(['text', 'finish'])
    await new Promise((resolve) => setImmediate(resolve))
    const second = chooser.resolve()
    return second.ok && second.model.window
  }

  const entry = (name: string, value: unknown) => ({
    name,
    task: { name: 'Text Generation' },
    properties: [
      { property_id: 'price', value: [{ unit: 'per M input tokens', price: 0.27 }] },
      { property_id: 'context_window', value },
    ],
  })

  test('come from the catalogue of the binding, with the documented length of answers', async () => {
    const searches: unknown[] = []
    const window = await windowAfter(SCOUT, async (search) => {
      searches.push(search)
      return [entry('@cf/acme/other', '24000'), entry(SCOUT, '90000'), entry('@cf/acme/odd', 'unknown'), null]
    })
    expect(window).toEqual({ contextTokens: 90_000, outputTokens: 16_384 })
    expect(searches).toEqual([{ task: 'Text Generation', per_page: 100 }])
  })

  test('are the documented ones where the platform enforces less than its catalogue says', async () => {
    const name = '@cf/zai-org/glm-5.2'
    expect(await windowAfter(name, async () => [entry(name, '262144')])).toEqual({ contextTokens: 256_000 })
  })

  test.each<[string, AiBinding['models']]>([
    ['has no catalogue', undefined],
    ['refuses', () => Promise.reject(new Error('5016: Not allowed'))],
    ['never answers', () => new Promise(() => {})],
    ['sends something else', async () => ({ result: 'none' })],
  ])('are the documented ones if the binding %s, and no request waits for it', async (_, models) => {
    expect(await windowAfter(SCOUT, models)).toEqual({ contextTokens: 131_072, outputTokens: 16_384 })
  })
})
