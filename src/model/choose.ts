import type { ChatModel, ModelProvider } from '../contract/model.ts'
import type { Price } from '../contract/usage.ts'
import type { ModelChooser } from '../contract/setup.ts'

export interface ChooserOptions {
  /** Who makes the models, by the first half of their names. */
  readonly providers: Readonly<Record<string, ModelProvider>>
  /** Used when a request names none, as `provider/name`. */
  readonly defaultModel?: string | undefined
  /** What a request may name: `provider/name`, or `provider/*`. Default: the default model alone, which is always in. */
  readonly allowed?: readonly string[] | undefined
  /** What models cost, by `provider/name`. */
  readonly prices?: Readonly<Record<string, Price>> | undefined
}

/**
 * Picks models by name. A name is split at its first slash; a bare one belongs to the default model's provider. What is
 * not allowed is as unknown as what does not exist.
 */
export function modelChooser({ providers, defaultModel, allowed = [], prices = {} }: ChooserOptions): ModelChooser {
  const known = defaultModel === undefined ? allowed : [defaultModel, ...allowed]
  const makers = new Map(Object.entries(providers))
  return {
    resolve: (name = defaultModel) => {
      if (name === undefined) return refuse('model_not_configured', 'The request names no model, and MODEL is not set.')
      const full = name.includes('/') || !defaultModel ? name : `${providerOf(defaultModel)}/${name}`
      const provider = providerOf(full)
      const model = full.slice(provider.length + 1)
      if (model === '' || !known.some((pattern) => fits(pattern, full))) {
        return refuse('unknown_model', `There is no model "${name}" here.`)
      }
      const make = makers.get(provider)
      if (!make) return refuse('model_not_configured', `The model provider "${provider}" is not set up.`)
      return { ok: true, name: full, model: withPrice(make(model), prices[full]) }
    },
    list: () => [...new Set(known)].filter((name) => !name.endsWith('*') && makers.has(providerOf(name))),
  }
}

function withPrice(model: ChatModel, price: Price | undefined): ChatModel {
  return price ? { ...model, price, stream: (...request) => model.stream(...request) } : model
}

/** The part of a name before its first slash. */
function providerOf(name: string): string {
  return name.replace(/\/.*/s, '')
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

function refuse<Code extends string>(code: Code, message: string): { ok: false; code: Code; message: string } {
  return { ok: false, code, message }
}
