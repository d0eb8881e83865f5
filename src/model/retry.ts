import type { ChatModel, ModelCapabilities, ModelError } from '../contract/model.ts'
import { pause } from '../contract/time-limit.ts'
import { attempts, failing } from './http-models.ts'
import { TIMED_OUT } from '../wire/provider/model-error.ts'

export interface RetryOptions {
  /** The number of requests in all. Default 3. */
  readonly attempts?: number | undefined
  /** Returns a number from 0 to below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined
  /** Contract: resolves after `ms` milliseconds, or as soon as `signal` aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
}

const SHORTEST_MS = 500
const LONGEST_MS = 8000
/** The longest wait here that a provider may ask for. For longer ones, the run waits. */
const LONGEST_ASKED_MS = 2000

/**
 * Makes a model that asks again if the model fails before its first event with a retryable error, except for a time-out:
 * the next model of a list of fallbacks is then asked at once, and a run starts its step again. It waits as long as
 * the provider asks, up to 2 s, else a random time below 0.5 s, 1 s, … 8 s. If the provider asks for a longer wait, or
 * after the last attempt, the failure is reported with the number of attempts. A run that has waited for the model asks it
 * once, and waits again.
 */
export function retrying(model: ChatModel, options: RetryOptions = {}): ChatModel {
  const { attempts: most = 3, random = Math.random, sleep = pause } = options

  function waitMs({ retryAfterMs = 0 }: ModelError, failures: number): number {
    // A provider that asks for no wait gets the random one too, so that its clients do not all come back at once.
    return retryAfterMs || random() * Math.min(SHORTEST_MS * 2 ** (failures - 1), LONGEST_MS)
  }

  return {
    ...model,
    stream: (request, signal, onRetry) => {
      const startStream = () => model.stream(request, signal, onRetry)
      return attempts(startStream, async (error, failures) => {
        // The provider fails for now, and was not asked.
        if (error.attempts === 0) return failures === 1 ? undefined : failing({ ...error, attempts: failures - 1 })
        const wait = waitMs(error, failures)
        const isLast = failures >= (request.waits ? 1 : most)
        if (!error.retryable || error.code === TIMED_OUT || isLast || (error.retryAfterMs ?? 0) > LONGEST_ASKED_MS) {
          const isCounted = failures === 1 || error.attempts !== undefined
          return isCounted ? undefined : failing({ ...error, attempts: failures })
        }
        onRetry?.(error)
        if (!signal.aborted) await sleep(wait, signal)
        return signal.aborted ? undefined : startStream()
      })
    },
  }
}

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
