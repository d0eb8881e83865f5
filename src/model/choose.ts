import type { ChatModel, ModelProvider, Patience } from '../contract/model.ts'
import type { ModelChooser, Report } from '../contract/setup.ts'
import type { Price } from '../contract/usage.ts'
import { attempts, failing } from './http-models.ts'
import type { ModelWindows } from './windows.ts'
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
  /** What is known of the context windows of models. Default: nothing. */
  readonly windows?: ModelWindows | undefined
  /** Is told, once in an isolate, what of a tool cannot be said to a model. Default: nobody is. */
  readonly report?: Report | undefined
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
  windows,
  report,
}: ChooserOptions): ModelChooser {
  const models = defaultModel === undefined ? allowed : [defaultModel, ...allowed]
  const makers = new Map(Object.entries(providers))
  const make = (full: string) => makers.get(providerOf(full))?.(full.slice(providerOf(full).length + 1))
  const list = () => [...new Set(models)].filter((name) => !name.endsWith('*') && makers.has(providerOf(name)))

  const toolReporter = (model: string) => (tool: string, losses: readonly string[]) =>
    report?.({ event: 'tool.cut', model, tool, detail: losses.join('; ') })

  function advising(model: ChatModel, name: string): ChatModel {
    const alternatives = () => list().filter((candidate) => candidate !== name && hasTools(make(candidate)))
    return {
      ...model,
      stream: (request, signal, onRetry) => {
        windows?.ask(providerOf(name))
        return attempts(
          () =>
            request.tools.length === 0 || hasTools(model)
              ? model.stream(report ? { ...request, reportTool: toolReporter(name) } : request, signal, onRetry)
              : failing({ code: WITHOUT_TOOLS, message: `The model ${name} cannot call tools.`, retryable: false }),
          (error, failures) =>
            error.code === WITHOUT_TOOLS && failures === 1
              ? failing({
                  ...error,
                  message: `${error.message} These can: ${alternatives().join(', ') || 'none here'}.`,
                })
              : undefined,
        )
      },
    }
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
      const window = windows?.of(full)
      const settings = {
        ...(price && { price }),
        ...(timeouts && { patience: timeouts }),
        ...(window && { window }),
        learnWindow: (contextTokens: number) => windows?.learn(full, contextTokens),
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
