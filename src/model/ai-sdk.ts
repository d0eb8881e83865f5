import { ALL_CAPABILITIES, type ChatModel, type ModelCapabilities, type ModelEvent } from '../contract/model.ts'
import { partsDecoder, thrownError } from '../wire/provider/ai-sdk/answer.ts'
import { type AiSdkVersion, toCallOptions } from '../wire/provider/ai-sdk/request.ts'
import {
  ANTHROPIC_DIALECT,
  COMPATIBLE_DIALECT,
  type ProviderDialect,
  GEMINI_DIALECT,
  GROQ_DIALECT,
  OPENAI_DIALECT,
} from '../wire/provider/dialects.ts'
import { fieldsOf } from '../wire/fields.ts'
import { withItems } from '../wire/provider/refused-item.ts'
import { fitRequest } from '../wire/provider/fit-request.ts'
import { listen, type Timeouts } from './listen.ts'

/** A `LanguageModel` of the AI SDK, as far as it is used. Any of its providers makes one, such as `anthropic('…')`. */
export interface AiSdkModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  /** Only some providers have this. Those send the model no schema unless it is true. */
  readonly supportsStructuredOutputs?: boolean
  doStream(options: object): PromiseLike<{ readonly stream: PartStream }>
}

interface PartStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: unknown }>
    cancel(reason?: unknown): Promise<unknown>
  }
}

export interface AiSdkOptions extends Timeouts {
  /** The full name. Default: the model's provider, up to a dot, and its id: `anthropic/claude-…`. */
  readonly name?: string | undefined
  /** Sent with every request, such as `{ openai: { store: false } }`. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined
}

/** What the specification can express. It has no `parallel_tool_calls`, which only `providerOptions` can set. */
const CAPABILITIES: ModelCapabilities = { ...ALL_CAPABILITIES, singleCalls: false, imageUrls: false, fileUrls: false }

/**
 * Makes a ChatModel of an AI SDK model of specification v2, v3 or v4, without a dependency on the SDK. Throws an Error
 * for any other version. Follows the `LanguageModel` specification of `@ai-sdk/provider`. The SDK's retries do not
 * apply: `doStream` has none.
 *
 * @example
 * const mine = (env: Env) => (name: string) =>
 *   fromAiSdk(createOpenAI({ apiKey: textOf(env, 'OPENAI_API_KEY') ?? '' })(name))
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): ChatModel {
  const { specificationVersion: version, provider, modelId, supportsStructuredOutputs: structuredOutput = true } = model
  if (!isSpoken(version)) throw new Error(`Expected an AI SDK model of specification v2 to v4 but received ${version}`)
  // Providers for Chat Completions send tool results as text, with images and files as base64 in it.
  const dialect = { version, richResults: !provider.endsWith('.chat') }
  const takes = DIALECTS.find(([pattern]) => pattern.test(provider))?.[1] ?? COMPATIBLE_DIALECT
  const { name = `${provider.replace(/\..*/s, '')}/${modelId}`, providerOptions, ...timeouts } = options
  return {
    name,
    capabilities: { ...CAPABILITIES, imagesInResults: dialect.richResults, structuredOutput },
    stream: (ownRequest, signal) => {
      const { request, answer } = fitRequest(ownRequest, takes)
      let body: unknown
      const events = listen({
        model: name,
        signal,
        patience: request.patience,
        openStream: async (abortSignal) => {
          const { traceparent } = request
          // The provider behind it may have tools of its own; an adapter has no place for them.
          request.providerTools?.()
          const call = {
            ...toCallOptions(request, dialect),
            ...(providerOptions && { providerOptions }),
            ...(traceparent !== undefined && { headers: { traceparent } }),
            abortSignal,
          }
          const { stream } = await model.doStream(call)
          return readParts(stream, abortSignal)
        },
        explain: (error) => {
          // As its `APICallError` has it.
          body = fieldsOf(error).requestBodyValues
          return thrownError(error)
        },
        ...timeouts,
      })
      return answer(withItems(events, request.messages, () => body))
    },
  }
}

/** What the providers behind the specification take, by their names in the SDK, such as `amazon-bedrock` and `google.vertex`. */
const DIALECTS: readonly (readonly [RegExp, ProviderDialect])[] = [
  [/anthropic|bedrock/, ANTHROPIC_DIALECT],
  [/google|gemini|vertex/, GEMINI_DIALECT],
  [/^(openai|azure)\b/, OPENAI_DIALECT],
  [/groq/, GROQ_DIALECT],
]

function isSpoken(version: string): version is AiSdkVersion {
  return version === 'v2' || version === 'v3' || version === 'v4'
}

/** Yields the events of a stream, part by part. It is cancelled here, since not every provider's heeds the signal. */
async function* readParts(stream: PartStream, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[], void> {
  const decoder = partsDecoder()
  const reader = stream.getReader()
  const leave = () => {
    reader.cancel().catch(() => {})
  }
  signal.addEventListener('abort', leave)
  try {
    while (!decoder.isDone) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      yield done ? decoder.end() : decoder.push(value)
    }
  } finally {
    signal.removeEventListener('abort', leave)
    leave()
  }
}
