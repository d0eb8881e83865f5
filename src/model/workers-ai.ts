import { ALL_CAPABILITIES, type ModelCapabilities, type ModelProvider } from '../contract/model.ts'
import { toInputs, workersAiAnswers } from '../wire/provider/workers-ai/codec.ts'
import { COMPATIBLE_DIALECT } from '../wire/provider/dialects.ts'
import { httpModels, withAdditions } from './http-models.ts'
import type { Timeouts } from './listen.ts'

/** The `AI` binding, as far as it is used. Contract: the promise and its stream end when `signal` aborts. */
export interface AiBinding {
  run(model: string, inputs: Record<string, unknown>, options: AiRunOptions): Promise<unknown>
  /** Lists the catalogue of models. Stand-ins for the binding may not have it. */
  models?(search: { readonly task: string; readonly per_page: number }): Promise<unknown>
}

interface AiRunOptions {
  readonly returnRawResponse: true
  readonly signal: AbortSignal
  readonly gateway?: { readonly id: string }
  readonly extraHeaders?: Readonly<Record<string, string>>
}

export interface WorkersAiOptions extends Timeouts {
  /** The AI Gateway that requests go through. Default: none. */
  readonly gateway?: string | undefined
  /** The first half of the models' names. Default `workers-ai`. */
  readonly provider?: string | undefined
  /** Whether the requests of a conversation go to the same cache, by `x-session-affinity`. `off`: no. Default `5m`. */
  readonly cache?: '5m' | '1h' | 'off' | undefined
}

const CAPABILITIES: ModelCapabilities = {
  ...ALL_CAPABILITIES,
  imagesInResults: false,
  imageUrls: false,
  fileUrls: false,
}

/**
 * Makes the models of Workers AI, by their names there, such as `@cf/meta/llama-4-scout-17b-16e-instruct`.
 *
 * @example
 * const model = workersAi(env.AI)('@cf/meta/llama-4-scout-17b-16e-instruct')
 */
export function workersAi(binding: AiBinding, options: WorkersAiOptions = {}): ModelProvider {
  const { gateway, provider = 'workers-ai', cache, ...timeouts } = options

  const models = httpModels({
    ...timeouts,
    provider,
    capabilities: CAPABILITIES,
    codec: workersAiAnswers,
    dialect: COMPATIBLE_DIALECT,
    request: async (model, request, signal, onBody) => {
      // The platform runs no tools of its own.
      request.providerTools?.()
      try {
        const id = gateway ? { gateway: { id: gateway } } : {}
        const isSent = cache !== 'off' && request.cacheKey !== undefined
        const affinity = isSent ? { extraHeaders: { 'x-session-affinity': request.cacheKey } } : {}
        const settings = { returnRawResponse: true, signal, ...id, ...affinity } as const
        const inputs = withAdditions(toInputs(request), request.providerOptions?.[provider])
        onBody(() => inputs)
        return toResponse(await binding.run(model, inputs, settings))
      } catch (error) {
        const refusal = error instanceof Error && REFUSAL.exec(error.message)
        if (!refusal) throw error
        return new Response(refusal[2] ?? '', { status: STATUS[refusal[1] ?? ''] ?? 400 })
      }
    },
  })
  return Object.assign(models, {
    list: async () => binding.models?.({ task: 'Text Generation', per_page: MOST_LISTED }),
  })
}

/** How many models the platform lists at once; it has fewer that write text. */
const MOST_LISTED = 100

/** Makes a response: older runtimes, and stand-ins, give a stream or value, and throw refusals: `<code>: <reason>`. */
function toResponse(result: unknown): Response {
  if (result instanceof Response) return result
  if (result instanceof ReadableStream)
    return new Response(result, { headers: { 'content-type': 'text/event-stream' } })
  return Response.json(result)
}

const REFUSAL = /^(\d{4}): (.*)/s

/** The HTTP statuses of the platform's own error codes; that of other codes is 400. */
const STATUS: Readonly<Record<string, number>> = {
  3006: 413,
  3010: 413,
  3007: 408,
  3008: 408,
  3023: 403,
  3036: 429,
  3040: 429,
  3041: 403,
  3042: 404,
  5007: 404,
  5016: 403,
  5018: 403,
  5021: 413,
}

/** Whether a value of the env is the `AI` binding. A variable of that name may be anything. */
export function isAi(value: unknown): value is AiBinding {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'run') === 'function'
}
