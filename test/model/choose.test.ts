import { describe, expect, test } from 'vitest'
import {
  ALL_CAPABILITIES,
  type ModelError,
  type ModelEvent,
  type ModelProvider,
  type ModelWindow,
} from '../../src/contract/model.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import { type ChooserOptions, modelChooser } from '../../src/model/choose.ts'
import { openai } from '../../src/model/openai.ts'
import { ModelWindows } from '../../src/model/windows.ts'
import { scripted } from '../fixtures/scripted.ts'

const provider =
  (name: string): ModelProvider =>
  (model) =>
    scripted([], `${name}/${model}`)

const providers = { openai: provider('openai'), 'workers-ai': provider('workers-ai') }

/** The name of the chosen model, or why there is none. */
function choose(options: Omit<ChooserOptions, 'providers'>, name?: string): string {
  const chosen = modelChooser({ providers, ...options }).resolve(name)
  return chosen.ok ? chosen.model.name : chosen.code
}

describe('a model', () => {
  test('is the default if a request names none', () => {
    expect(choose({ defaultModel: 'openai/gpt-5' })).toBe('openai/gpt-5')
    expect(choose({ defaultModel: 'openai/gpt-5', allowed: ['openai/other'] })).toBe('openai/gpt-5')
    expect(choose({})).toBe('model_not_configured')
  })

  test('keeps its own price, patience and window, unless the configuration names others', () => {
    const [price, other] = [
      { input: 1, output: 2 },
      { input: 3, output: 4 },
    ]
    const own = { price, patience: { silenceMs: 5 }, window: { contextTokens: 1000 } }
    const models = (prices: ChooserOptions['prices']) =>
      modelChooser({ providers: { acme: (name) => ({ ...scripted([], name), ...own }) }, allowed: ['acme/*'], prices })
    expect(models({}).resolve('acme/a')).toMatchObject({ model: own })
    expect(models({ 'acme/a': other }).resolve('acme/a')).toMatchObject({ model: { ...own, price: other } })
  })

  test('is split at the first slash of its name', () => {
    const allowed = ['workers-ai/*']
    expect(choose({ allowed }, 'workers-ai/@cf/meta/llama-4')).toBe('workers-ai/@cf/meta/llama-4')
  })

  test('with a bare name is of the default model’s provider', () => {
    expect(choose({ defaultModel: 'openai/gpt-5', allowed: ['openai/*'] }, 'gpt-5-mini')).toBe('openai/gpt-5-mini')
    expect(choose({ defaultModel: 'openai/gpt-5' }, 'gpt-5')).toBe('openai/gpt-5')
    expect(choose({ allowed: ['openai/*'] }, 'gpt-5')).toBe('unknown_model')
  })

  test.each([
    ['openai/gpt-5-mini', {}],
    ['openai/gpt-5-mini', { allowed: ['openai/gpt-5'] }],
    ['openai/gpt-5-mini', { allowed: ['workers-ai/*'] }],
    ['openai/', { allowed: ['openai/*'] }],
    ['openai', { allowed: ['openai/*'] }],
    ['', { allowed: ['openai/*'] }],
    ['anthropic/claude', { allowed: ['openai/*'] }],
  ])('%j is unknown with %j', (name, options) => {
    expect(choose({ defaultModel: 'workers-ai/a', ...options }, name)).toBe('unknown_model')
  })

  test('that is allowed but has no provider is not configured', () => {
    expect(choose({ allowed: ['anthropic/*'] }, 'anthropic/claude')).toBe('model_not_configured')
    expect(choose({ allowed: ['toString/*'] }, 'toString/x')).toBe('model_not_configured')
    expect(choose({ defaultModel: 'anthropic/claude' })).toBe('model_not_configured')
  })

  test('is refused with an error that names it', () => {
    const chooser = modelChooser({ providers, defaultModel: 'openai/gpt-5' })
    expect(chooser.resolve('gpt-6')).toEqual({
      ok: false,
      code: 'unknown_model',
      message: 'There is no model "gpt-6" here.',
    })
  })
})

test('the list has exact names that have a provider, each once', () => {
  const allowed = ['openai/gpt-5', 'openai/gpt-5-mini', 'workers-ai/*', 'anthropic/claude', 'workers-ai/@cf/a/b']
  expect(modelChooser({ providers, defaultModel: 'openai/gpt-5', allowed }).list()).toEqual([
    'openai/gpt-5',
    'openai/gpt-5-mini',
    'workers-ai/@cf/a/b',
  ])
  expect(modelChooser({ providers }).list()).toEqual([])
})

test('a model with a configured price knows it', () => {
  const price = { input: 1, output: 2 }
  const chooser = modelChooser({
    providers,
    defaultModel: 'openai/a',
    allowed: ['openai/b'],
    prices: { 'openai/a': price },
  })
  const priceOf = (name: string) => {
    const resolved = chooser.resolve(name)
    return resolved.ok && resolved.model.price
  }
  expect([priceOf('a'), priceOf('b')]).toEqual([price, undefined])
})

describe('a model without tool support', () => {
  const clock: ToolDefinition = {
    name: 'clock',
    description: 'Tells the time.',
    inputSchema: { type: 'object' },
    version: '1',
    hash: 'h',
    annotations: {},
  }
  const refusal: ModelError = {
    code: 'model_without_tools',
    message: 'The model openai/old cannot call tools: it does not support tools.',
    status: 400,
    retryable: false,
  }
  const noon: readonly ModelEvent[] = [
    { type: 'text', text: 'Noon.' },
    { type: 'finish', finish: 'stop' },
  ]
  const chooser = (...allowed: string[]) =>
    modelChooser({
      providers: {
        // Its server says so.
        openai: (model) =>
          scripted(
            [(request) => (request.tools.length > 0 ? [{ type: 'error', error: refusal }] : noon)],
            `openai/${model}`,
          ),
        // Its record says so.
        local: (model) => ({
          ...scripted([noon], `local/${model}`),
          capabilities: { ...ALL_CAPABILITIES, tools: false },
        }),
      },
      allowed,
    })
  const answerOf = async (models: ReturnType<typeof chooser>, name: string, tools = [clock]) => {
    const resolved = models.resolve(name)
    if (!resolved.ok) throw new Error(resolved.message)
    const events: ModelEvent[] = []
    const request = { messages: [{ role: 'user', content: 'What time is it?' } as const], tools }
    for await (const event of resolved.model.stream(request, new AbortController().signal)) events.push(event)
    return events
  }

  test('fails with an error that names models with tools', async () => {
    const models = chooser('openai/old', 'openai/new', 'openai/newer', 'local/*', 'local/small')
    expect(await answerOf(models, 'openai/old')).toEqual([
      { type: 'error', error: { ...refusal, message: `${refusal.message} These can: openai/new, openai/newer.` } },
    ])
    expect(await answerOf(models, 'local/tiny')).toEqual([
      {
        type: 'error',
        error: {
          code: 'model_without_tools',
          message: 'The model local/tiny cannot call tools. These can: openai/old, openai/new, openai/newer.',
          retryable: false,
        },
      },
    ])
    expect(await answerOf(chooser('local/small'), 'local/small')).toMatchObject([
      { error: { message: 'The model local/small cannot call tools. These can: none here.' } },
    ])
  })

  test('answers requests without tools', async () => {
    for (const name of ['openai/old', 'local/small']) {
      expect(await answerOf(chooser('openai/old', 'local/small'), name, [])).toEqual(noon)
    }
  })
})

describe('the context window of a model', () => {
  function windowOf(name: string, known: Readonly<Record<string, ModelWindow>> = {}, learnt?: number): unknown {
    const chooser = modelChooser({ providers, defaultModel: name, windows: new ModelWindows(known, providers) })
    const first = chooser.resolve()
    if (learnt !== undefined && first.ok) first.model.learnWindow?.(learnt)
    const second = chooser.resolve()
    return second.ok && second.model.window
  }

  test('is the documented one, or unknown', () => {
    expect(windowOf('openai/gpt-4o')).toEqual({ contextTokens: 128_000, outputTokens: 16_384 })
    expect(windowOf('openai/our-own')).toBeUndefined()
  })

  test('is what a refusal has told, for as long as the isolate lives', () => {
    expect(windowOf('openai/our-own', {}, 15_000)).toEqual({ contextTokens: 15_000 })
    expect(windowOf('openai/gpt-4o', {}, 100_000)).toEqual({ contextTokens: 100_000, outputTokens: 16_384 })
  })

  test('is as configured, by name or glob, before anything else', () => {
    const windows = {
      'openai/gpt-4o': { contextTokens: 64_000 },
      'openai/*': { contextTokens: 8000, outputTokens: 500 },
    }
    expect(windowOf('openai/gpt-4o', windows, 100_000)).toEqual({ contextTokens: 64_000 })
    expect(windowOf('openai/other', windows)).toEqual({ contextTokens: 8000, outputTokens: 500 })
  })
})

describe('the windows in the list of models of a server', () => {
  const LIST = [
    { id: 'router', context_length: 64_000, top_provider: { context_length: 32_000, max_completion_tokens: 4000 } },
    { id: 'vllm', max_model_len: 16_384 },
    { id: 'llama', meta: { n_ctx: 8192, n_ctx_train: 131_072 } },
    { id: 'loaded', max_context_length: 131_072, loaded_context_length: 4096 },
    { id: 'wrong', context_length: 3 },
    { id: 'gpt-4o' },
  ]
  const NAMES = LIST.map(({ id }) => `own/${id}`)

  /** An edge's models, at a server that answers a request for its list as this says. */
  function serverWith(
    answer: (signal: AbortSignal) => Promise<Response>,
    known: Readonly<Record<string, ModelWindow>> = {},
  ) {
    const lines: string[] = []
    const send = async (url: string, { method = 'GET', signal }: RequestInit) => {
      lines.push(`${method} ${url}`)
      if (method === 'GET') return answer(signal as AbortSignal)
      return Response.json({ choices: [{ message: { content: 'Hi.' }, finish_reason: 'stop' }] })
    }
    const own = openai({ provider: 'own', baseUrl: 'https://models.example/v1', fetch: send as typeof fetch })
    const windows = new ModelWindows(known, { own })
    const chooser = modelChooser({ providers: { own }, allowed: ['own/*'], windows })
    const model = (name: string) => {
      const chosen = chooser.resolve(name)
      if (!chosen.ok) throw new Error(chosen.message)
      return chosen.model
    }
    const say = async (name: string) => {
      const request = { messages: [{ role: 'user', content: 'Hello' }], tools: [] } as const
      const events: ModelEvent[] = []
      for await (const event of model(name).stream(request, new AbortController().signal)) events.push(event)
      await new Promise((resolve) => setImmediate(resolve))
      return events
    }
    return { lines, say, windows: () => NAMES.map((name) => model(name).window), model }
  }
  const answerList = async () => Response.json({ object: 'list', data: LIST })
  const ofCatalogue = { contextTokens: 128_000, outputTokens: 16_384 }
  const TABLE = [
    { contextTokens: 32_000, outputTokens: 4000 },
    ...[{ contextTokens: 16_384 }, { contextTokens: 8192 }, { contextTokens: 4096 }, undefined, ofCatalogue],
  ]

  test('are asked for once, beside the first request, and count before those that are documented', async () => {
    const { lines, say, windows } = serverWith(answerList)
    expect(windows()).toEqual([...Array.from({ length: 5 }, () => undefined), ofCatalogue])
    expect(lines).toEqual([])
    await say('own/vllm')
    await say('own/llama')
    const chat = 'POST https://models.example/v1/chat/completions'
    expect(lines).toEqual(['GET https://models.example/v1/models', chat, chat])
    expect(windows()).toEqual(TABLE)
  })

  test('count after a setting, and after what a refusal has told', async () => {
    const { say, model } = serverWith(answerList, { 'own/vllm': { contextTokens: 9000 } })
    await say('own/llama')
    model('own/llama').learnWindow?.(5000)
    expect([model('own/vllm').window, model('own/llama').window]).toEqual([
      { contextTokens: 9000 },
      { contextTokens: 5000 },
    ])
  })

  test.each<[string, (signal: AbortSignal) => Promise<Response>]>([
    ['refuses', async () => new Response('', { status: 404 })],
    ['cannot be reached', () => Promise.reject(new Error('no network'))],
    ['never answers', () => new Promise(() => {})],
    ['sends something else', async () => Response.json({ data: 'none' })],
    ['sends no JSON', async () => new Response('<html>')],
    ['sends too much', async () => new Response('x'.repeat(3 * 1024 * 1024))],
  ])('hold up and change nothing if the server %s', async (_, answer) => {
    const { lines, say, windows } = serverWith(answer)
    expect((await say('own/vllm')).map(({ type }) => type)).toEqual(['text', 'finish'])
    await say('own/vllm')
    expect(lines.filter((each) => each.startsWith('GET'))).toHaveLength(1)
    expect(windows()).toEqual([...Array.from({ length: 5 }, () => undefined), ofCatalogue])
  })
})
