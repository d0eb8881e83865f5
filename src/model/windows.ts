import { matches } from '../contract/tool-names.ts'
import { isObject } from '../contract/json.ts'
import type { ModelProvider, ModelWindow } from '../contract/model.ts'
import { RecentMap } from '../contract/recent-map.ts'
import { withTimeLimit } from '../contract/time-limit.ts'

/** How long a provider may take to list its models, and how soon it is asked again if it gave no list, in milliseconds. */
const LIST_MS = 5000
const AGAIN_MS = 10 * 60_000
/** The most models in such a list. */
const MOST_MODELS = 5000
/** What a list says beyond these bounds is a mistake. */
const LEAST_TOKENS = 1000
const MOST_TOKENS = 100_000_000
/** For how many names an isolate remembers what is documented: callers may name any. */
const MOST_NAMES = 100

/** What an isolate knows of the windows of models, by `provider/name`. */
export class ModelWindows {
  readonly #configured: Readonly<Record<string, ModelWindow>>
  readonly #providers: Readonly<Record<string, ModelProvider>>
  /** What refusals of providers have told: context windows in tokens. */
  readonly #learnt = new Map<string, number>()
  /** What the lists of providers have told, by the name of the provider and that of the model. */
  readonly #lists = new Map<string, ReadonlyMap<string, ModelWindow>>()
  /** What is documented, by `provider/name`: each step of a run asks, and the table is long. */
  readonly #documented = new RecentMap<string, { readonly window: ModelWindow | undefined }>({ most: MOST_NAMES })
  /** When each provider was asked for its list, in epoch milliseconds. */
  readonly #askedAt = new Map<string, number>()

  /** `configured`: by `provider/name` or glob. */
  constructor(configured: Readonly<Record<string, ModelWindow>>, providers: Readonly<Record<string, ModelProvider>>) {
    this.#configured = configured
    this.#providers = providers
  }

  /** Returns the window of a model: as configured, learnt from a refusal, listed by the provider, or documented. */
  of(name: string): ModelWindow | undefined {
    const [, configured] = Object.entries(this.#configured).find(([glob]) => matches([glob], name)) ?? []
    if (configured) return configured
    const at = name.indexOf('/')
    const window = this.#lists.get(name.slice(0, at))?.get(name.slice(at + 1)) ?? this.#documentedFor(name)
    const contextTokens = this.#learnt.get(name)
    return contextTokens === undefined ? window : { ...window, contextTokens }
  }

  #documentedFor(name: string): ModelWindow | undefined {
    let entry = this.#documented.get(name)
    if (!entry) this.#documented.set(name, (entry = { window: documentedWindow(name) }))
    return entry.window
  }

  learn(name: string, contextTokens: number): void {
    this.#learnt.set(name, contextTokens)
  }

  /**
   * Asks a provider for the windows of its models, beside a request to one of them and once in an isolate: nothing waits
   * for the list, and what fails changes nothing.
   */
  ask(provider: string): void {
    const { list } = this.#providers[provider] ?? {}
    const now = Date.now()
    if (!list || this.#lists.has(provider) || now - (this.#askedAt.get(provider) ?? -Infinity) < AGAIN_MS) return
    this.#askedAt.set(provider, now)
    withTimeLimit(LIST_MS, list)
      .then((body) => void this.#lists.set(provider, windowsIn(body)))
      .catch(() => {})
  }
}

/**
 * Returns the windows in the list of models of a server, by the names of the models: that of OpenAI-style APIs and of
 * Anthropic (`data`), of Gemini (`models`), or an array, such as the catalogue of Workers AI. Servers have fields of their
 * own for them; models without one are left out. Throws an Error if it is none.
 */
export function windowsIn(body: unknown): ReadonlyMap<string, ModelWindow> {
  const list = isObject(body) ? (body['data'] ?? body['models']) : body
  if (!Array.isArray(list)) throw new Error('The server sent no list of models')
  const windows = new Map<string, ModelWindow>()
  for (const model of list.slice(0, MOST_MODELS)) {
    const window = isObject(model) ? (windowInCatalogue(model) ?? windowIn(model)) : undefined
    const name = isObject(model) ? nameIn(model) : undefined
    if (!window || name === undefined) continue
    windows.set(name, window)
    // Anthropic lists its models with dates, the newest first, and takes the names without them too.
    const plain = name.replace(/-\d{8}$/, '')
    if (!windows.has(plain)) windows.set(plain, window)
  }
  return windows
}

function nameIn({ id, name }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof id === 'string') return id
  return typeof name === 'string' ? name.replace(/^models\//, '') : undefined
}

/** Reads the window of a model in the catalogue of Workers AI. */
function windowInCatalogue({ name, properties }: Readonly<Record<string, unknown>>): ModelWindow | undefined {
  if (typeof name !== 'string' || !Array.isArray(properties) || LISTED_TOO_LONG.test(name)) return undefined
  const property = properties.filter(isObject).find((each) => each.property_id === 'context_window')
  const contextTokens = Number(property?.['value'])
  return isTokens(contextTokens) ? { ...documentedWindow(`workers-ai/${name}`), contextTokens } : undefined
}

/** Models that refuse prompts which fit by the catalogue, as of 2026-11. The window that is enforced is documented. */
const LISTED_TOO_LONG = /glm-5\.2|gemma-4/

/** The fields of servers for the window, the one that is enforced first, and for the longest answer. */
const CONTEXT_FIELDS = [
  ...['loaded_context_length', 'context_length', 'context_window', 'max_context_length', 'max_model_len'],
  ...['max_input_tokens', 'inputTokenLimit', 'n_ctx'],
]
const OUTPUT_FIELDS = ['max_completion_tokens', 'max_output_tokens', 'outputTokenLimit', 'max_tokens']

/** Reads the window of one model, which some servers tell in `meta` (llama.cpp) or `top_provider` (OpenRouter). */
function windowIn(model: Readonly<Record<string, unknown>>): ModelWindow | undefined {
  const { meta, top_provider: provider } = model
  const places = [provider, model, meta].filter(isObject)
  const tokensIn = (fields: readonly string[]) =>
    places.flatMap((place) => fields.map((field) => place[field])).find(isTokens)
  const contextTokens = tokensIn(CONTEXT_FIELDS)
  const outputTokens = tokensIn(OUTPUT_FIELDS)
  if (contextTokens === undefined) return undefined
  return { contextTokens, ...(outputTokens !== undefined && outputTokens < contextTokens && { outputTokens }) }
}

function isTokens(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= LEAST_TOKENS && Number(value) <= MOST_TOKENS
}

/**
 * The windows that providers document, by globs of `provider/name`; the first that matches counts. Where servers enforce
 * less than they list, this is what they enforce. As of 2026-11.
 */
const DOCUMENTED: readonly (readonly [globs: readonly string[], contextTokens: number, outputTokens?: number])[] = [
  [['workers-ai/*llama-3.3-70b*'], 24_000],
  [['workers-ai/*qwen3-30b*'], 32_768],
  [['workers-ai/*gpt-oss-*'], 128_000, 16_384],
  [['workers-ai/*llama-4-scout*', 'workers-ai/*gemma-4*'], 131_072, 16_384],
  [['workers-ai/*glm-5.2*'], 256_000],
  [['workers-ai/*kimi-k2*'], 262_144],
  [['workers-ai/*glm-5.3*', 'workers-ai/*deepseek-v4*'], 1_048_576],
  // A server on one's own machine loads models with small windows by default.
  [['ollama/*'], 32_768],
  [['groq/*llama-3.3-70b*'], 131_072, 32_768],
  [['*gpt-oss-*'], 131_072, 65_536],
  [['*claude-haiku-4-5*', '*claude-sonnet-4-5*', '*claude-opus-4-5*'], 200_000, 64_000],
  [['*claude-*-4-6*', '*claude-*-5*', '*claude-opus-4-7*', '*claude-opus-4-8*'], 1_000_000, 128_000],
  [['*claude-*'], 200_000, 8192],
  // The window is 400,000 tokens in all, of which the prompt may have 272,000.
  [['*gpt-5*', '*gpt-6*'], 400_000, 128_000],
  [['*gpt-4.1*'], 1_047_576, 32_768],
  [['*gpt-4o*'], 128_000, 16_384],
  [['openai/o3*', 'openai/o4-mini*'], 200_000, 100_000],
  [['*gemini-4-argon*'], 1_048_576, 32_768],
  [['*gemini-*'], 1_048_576, 65_536],
  [['*grok-4.3*'], 1_000_000, 30_000],
  [['*grok-*'], 500_000],
  [['*deepseek-*', '*glm-5*'], 1_000_000, 131_072],
  [['*kimi-k3*'], 1_048_576],
  [['*mistral-large-4*'], 1_048_576, 262_144],
  [['*mistral-*-latest*'], 262_144],
  [['*nova-2-lite*'], 1_000_000, 65_535],
  [['*nova-*'], 300_000, 10_000],
]

/** Returns the documented window of a model; undefined if it is not known. */
function documentedWindow(name: string): ModelWindow | undefined {
  const row = DOCUMENTED.find(([globs]) => matches(globs, name))
  if (!row) return undefined
  const [, contextTokens, outputTokens] = row
  return { contextTokens, outputTokens }
}
