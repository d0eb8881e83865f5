import type { ChatModel, ModelCapabilities, ModelError } from '../contract/model.ts'
import { attempts } from './attempts.ts'

export interface FallbackOptions {
  /** Decides after which failures the next model is asked. Default: all but a request refused for its content. */
  readonly after?: ((error: ModelError) => boolean) | undefined
}

/**
 * Makes one model of several: each is asked if the one before it failed before its first event. If an answer breaks off
 * later, or the model falls silent, the step starts again with the next one. It has the name and the
 * price of the first, and the capabilities that all of them have. The last failure is reported.
 *
 * @example
 * const models = anthropic({ apiKey: textOf(env, 'ANTHROPIC_API_KEY') })
 * const model = fallingBack([models('claude-opus-4-5'), openai()('gpt-5.2')])
 */
export function fallingBack(models: readonly [ChatModel, ...ChatModel[]], options: FallbackOptions = {}): ChatModel {
  const { after = ({ code }) => code !== 'model_refused_request' } = options
  const capabilities = common(models)
  return {
    ...models[0],
    ...(capabilities && { capabilities }),
    stream: (request, signal, onRetry) => {
      const first = (request.cuts ?? 0) % models.length
      const order = [...models.slice(first), ...models.slice(0, first)]
      const ask = (at: number) => order[at]?.stream(request, signal, onRetry)
      return attempts(
        () => ask(0) ?? models[0].stream(request, signal, onRetry),
        (error, failures) => {
          const next = after(error) && !signal.aborted && failures < order.length
          if (next) onRetry?.(error)
          return next ? ask(failures) : undefined
        },
      )
    },
  }
}

/** Returns the common capabilities; undefined if those of the first are unknown. Unknown ones of others are ignored. */
function common([first, ...rest]: readonly [ChatModel, ...ChatModel[]]): ModelCapabilities | undefined {
  return first.capabilities && rest.reduce((all, { capabilities = all }) => both(all, capabilities), first.capabilities)
}

function both(a: ModelCapabilities, b: ModelCapabilities): ModelCapabilities {
  return {
    tools: a.tools && b.tools,
    parallelCalls: a.parallelCalls && b.parallelCalls,
    singleCalls: a.singleCalls && b.singleCalls,
    toolChoice: a.toolChoice && b.toolChoice,
    streamedArguments: a.streamedArguments && b.streamedArguments,
    imagesInResults: a.imagesInResults && b.imagesInResults,
    structuredOutput: a.structuredOutput && b.structuredOutput,
    imageUrls: a.imageUrls && b.imageUrls,
    fileUrls: a.fileUrls && b.fileUrls,
  }
}
