import { matches } from '../contract/glob.ts'
import type { ChatModel, ModelProvider, ModelWindow, Patience } from '../contract/model.ts'
import type { ModelChooser } from '../contract/setup.ts'
import type { Price } from '../contract/usage.ts'
import { attempts, failing } from './http-models.ts'
import { WITHOUT_TOOLS } from '../wire/provider/model-error.ts'

export interface ChooserOptions {
  /** The providers, by the first half of their models' names. */
  readonly providers: Readonly<Record<string, ModelProvider>>
  /** The model of a request that names none, as `provider/name`. */
  readonly defaultModel?: string | undefined
  /** What a request may name beside the default model: `provider/name`, or `provider/*`. Default: nothing. */
  readonly allowed?: readonly string[] | undefined
  /** The prices of models, by `provider/name`. */
  readonly prices?: Readonly<Record<string, Price>> | undefined
  /** How long models may be silent, by `provider/name`. Default: as the limits of a run say. */
  readonly patience?: Readonly<Record<string, Patience>> | undefined
  /** The context windows of models, by `provider/name` or glob. Default: those that providers tell or document. */
  readonly windows?: Readonly<Record<string, ModelWindow>> | undefined
}

/**
 * Makes a chooser of models by name. A name is split at its first slash; a name without one belongs to the default
 * model's provider. A model that is not allowed is reported as unknown. The error of a model that cannot call tools, as
 * its server or its capabilities say, lists the models that can, as far as their capabilities say.
 */
export function modelChooser({
  providers,
  defaultModel,
  allowed = [],
  prices = {},
  patience = {},
  windows = {},
}: ChooserOptions): ModelChooser {
  const models = defaultModel === undefined ? allowed : [defaultModel, ...allowed]
  const makers = new Map(Object.entries(providers))
  /** What refusals of providers have told this isolate: context windows in tokens, by `provider/name`. */
  const learnt = new Map<string, number>()
  const make = (full: string) => makers.get(providerOf(full))?.(full.slice(providerOf(full).length + 1))
  const list = () => [...new Set(models)].filter((name) => !name.endsWith('*') && makers.has(providerOf(name)))

  function advising(model: ChatModel, name: string): ChatModel {
    const alternatives = () => list().filter((candidate) => candidate !== name && hasTools(make(candidate)))
    return {
      ...model,
      stream: (request, signal, onRetry) =>
        attempts(
          () =>
            request.tools.length === 0 || hasTools(model)
              ? model.stream(request, signal, onRetry)
              : failing({ code: WITHOUT_TOOLS, message: `The model ${name} cannot call tools.`, retryable: false }),
          (error, failures) =>
            error.code === WITHOUT_TOOLS && failures === 1
              ? failing({
                  ...error,
                  message: `${error.message} These can: ${alternatives().join(', ') || 'none here'}.`,
                })
              : undefined,
        ),
    }
  }

  function windowOf(name: string): ModelWindow | undefined {
    const [, configured] = Object.entries(windows).find(([glob]) => matches([glob], name)) ?? []
    const contextTokens = learnt.get(name)
    if (configured || contextTokens === undefined) return configured ?? documentedWindow(name)
    return { ...documentedWindow(name), contextTokens }
  }

  return {
    resolve: (name = defaultModel) => {
      if (name === undefined) return refuse('model_not_configured', 'The request names no model, and MODEL is not set.')
      const full = name.includes('/') || !defaultModel ? name : `${providerOf(defaultModel)}/${name}`
      if (!/\/./.test(full) || !models.some((pattern) => fits(pattern, full))) {
        return refuse('unknown_model', `There is no model "${name}" here.`)
      }
      const model = make(full)
      if (!model) return refuse('model_not_configured', `The model provider "${providerOf(full)}" is not set up.`)
      const price = prices[full]
      const timeouts = patience[full]
      const window = windowOf(full)
      const settings = {
        ...(price && { price }),
        ...(timeouts && { patience: timeouts }),
        ...(window && { window }),
        learnWindow: (contextTokens: number) => void learnt.set(full, contextTokens),
      }
      return { ok: true, name: full, model: { ...advising(model, full), ...settings } }
    },
    list,
  }
}

function hasTools(model: ChatModel | undefined): boolean {
  return model?.capabilities?.tools !== false
}

/** Returns the part of a name before its first slash. */
function providerOf(name: string): string {
  return name.replace(/\/.*/s, '')
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

function refuse<Code extends string>(code: Code, message: string): { ok: false; code: Code; message: string } {
  return { ok: false, code, message }
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
  return { contextTokens, ...(outputTokens !== undefined && { outputTokens }) }
}
