import { ALL_CAPABILITIES, type ModelEvent, type ModelProvider, type ModelRequest } from '../contract/model.ts'
import {
  anthropicAnswers,
  encodeAnthropicRequest,
  joinAnthropic,
  type ProviderSearch,
  withoutForm,
} from '../wire/provider/anthropic/codec.ts'
import { ANTHROPIC_DIALECT } from '../wire/provider/dialects.ts'
import { postModels, type ServerOptions, takeHints } from './http-models.ts'
import { listOf } from './model-list.ts'
import { isObject } from '../contract/json.ts'
import type { AssistantMessage, Message, Opaque } from '../contract/message.ts'
import type { Citation } from '../contract/provider-tool.ts'
import { addUsage, type Usage } from '../contract/usage.ts'
import { objectsOf } from '../wire/fields.ts'
import { errorEvent } from '../wire/provider/model-answer.ts'
import { badResponse } from '../wire/provider/model-error.ts'

export interface AnthropicOptions extends ServerOptions {
  /** The limit of tokens of an answer, with its thinking, if the request sets none. Default 16,000. */
  readonly maxTokens?: number | undefined
  /** How long the provider caches prompts; `off` for not at all. Default `5m`. */
  readonly cache?: '5m' | '1h' | 'off' | undefined
  /**
   * Whether the definition of a tool that a search found is loaded where the result names it, so that what precedes it
   * stays cached. A model that refuses this gets all definitions at the start. Default true.
   */
  readonly deferLoading?: boolean | undefined
}

/**
 * Makes the models of Anthropic, and of any server that speaks its Messages API (version 2023-06-01). `baseUrl` is the
 * URL before `/v1/messages`, with or without the `/v1`.
 *
 * @example
 * const models = anthropic({ apiKey: textOf(env, 'ANTHROPIC_API_KEY') })
 * const model = models('claude-opus-4-5')
 */
export function anthropic(options: AnthropicOptions = {}): ModelProvider {
  const { baseUrl, provider = 'anthropic', maxTokens = 16_000, cache = '5m', deferLoading = true, ...rest } = options
  const base = `${(baseUrl || 'https://api.anthropic.com').replace(/(\/v1)?\/*$/, '')}/v1`
  const url = `${base}/messages`
  const headers = { 'anthropic-version': '2023-06-01', ...(rest.apiKey && { 'x-api-key': rest.apiKey }) }
  const models = postModels({
    ...rest,
    provider,
    capabilities: ALL_CAPABILITIES,
    hints: [...HINTS, BETAS, SEARCH],
    url: () => url,
    headers,
    headersFor: ({ hints }): Readonly<Record<string, string>> => {
      const { 'anthropic-beta': betas } = takeHints(hints, [BETAS])
      return Array.isArray(betas) ? { 'anthropic-beta': betas.join() } : {}
    },
    codec: anthropicAnswers,
    dialect: ANTHROPIC_DIALECT,
    hasKinds: ({ tools }) => tools.some(({ forms }) => forms?.anthropic),
    encode: (model, { tools, ...request }, { isOther: isPlain, hasOnlyFunctions }) =>
      encodeAnthropicRequest(
        { ...request, tools: hasOnlyFunctions ? tools.map(withoutForm) : tools },
        {
          model,
          maxTokens,
          cache,
          deferLoading,
          isPlain,
          members: takeHints(request.hints, HINTS),
          search: searchIn(request.hints),
        },
      ),
    cure: REFUSED_FEATURES,
    lasts: /support/i,
  })
  const { fetch: send = fetch } = rest
  return Object.assign(continuing(models, joinAnthropic), {
    list: listOf({ url: `${base}/models?limit=1000`, headers, fetch: send }),
  })
}

const HINTS = ['anthropic.metadata', 'anthropic.service_tier', 'anthropic.speed']
/** The names that a caller has sent in the header `anthropic-beta`. */
const BETAS = 'anthropic.anthropic-beta'
/** The provider's own search of tools, which a caller has asked for. */
const SEARCH = 'anthropic.tool_search'

function searchIn(hints: ModelRequest['hints']): ProviderSearch | undefined {
  const { tool_search: search } = takeHints(hints, [SEARCH])
  if (!isObject(search)) return undefined
  const deferred = Array.isArray(search['deferred'])
    ? search['deferred'].filter((name) => typeof name === 'string')
    : []
  return { forms: objectsOf(search['forms']), deferred }
}

/**
 * Matches refusals of deferred definitions, or of thinking, which some models refuse only while a call is forced. The
 * request is then sent without either.
 */
const REFUSED_FEATURES = /defer|tool_reference|tool_search|thinking|effort/i

/** How often an answer may pause. Each part of it can have made about ten uses of tools. */
const MOST_PAUSES = 10

/**
 * Makes models whose answers are whole: an answer that the provider has paused, since its own tools have taken long, is
 * sent back, and what it continues with is added. `join` makes the opaque data of several parts one.
 */
function continuing(models: ModelProvider, join: (parts: readonly Opaque[]) => Opaque | undefined): ModelProvider {
  return (name) => {
    const model = models(name)
    return {
      ...model,
      stream: (request, signal, onRetry) =>
        wholeAnswer((messages) => model.stream({ ...request, messages }, signal, onRetry), request.messages, join),
    }
  }
}

async function* wholeAnswer(
  ask: (messages: readonly Message[]) => AsyncIterable<ModelEvent>,
  messages: readonly Message[],
  join: (parts: readonly Opaque[]) => Opaque | undefined,
): AsyncGenerator<ModelEvent, void> {
  const parts: Opaque[] = []
  const citations: Citation[] = []
  let text = ''
  let usage: Usage | undefined
  for (let pauses = 0; pauses <= MOST_PAUSES; pauses += 1) {
    const opaque = join(parts)
    const answer: AssistantMessage = { role: 'assistant', content: text, opaque }
    const textBefore = text.length
    let isPaused = false
    for await (const event of ask(pauses > 0 ? [...messages, answer] : messages)) {
      if (event.type === 'text') text += event.text
      if (event.type !== 'finish') {
        yield event.type === 'provider.call' ? withInput(event, parts) : event
        continue
      }
      const { isPaused: pause, opaque: part, citations: own = [], usage: used, ...end } = event
      isPaused = pause === true
      // A text without opaque data has a place among those with it.
      parts.push(part ?? { codec: '', data: [text.length - textBefore] })
      citations.push(...own.map((each) => moved(each, textBefore)))
      if (used) usage = usage ? addUsage(usage, used) : used
      if (isPaused) continue
      const wholeOpaque = join(parts)
      yield {
        ...end,
        usage,
        opaque: wholeOpaque,
        ...(citations.length > 0 && { citations }),
      }
    }
    if (!isPaused) return
  }
  yield errorEvent(badResponse(`The model paused its answer more than ${MOST_PAUSES} times.`))
}

type ProviderEvent = Extract<ModelEvent, { type: 'provider.call' }>

/** Adds the input of a use that was in an earlier part, if its result comes only now. */
function withInput(event: ProviderEvent, parts: readonly Opaque[]): ProviderEvent {
  const use = parts.flatMap(({ data }) => objectsOf(data)).find(({ id }) => id === event.id)
  return use && isObject(use.input) ? { ...event, input: use.input } : event
}

function moved({ start, end, ...citation }: Citation, by: number): Citation {
  return {
    ...citation,
    ...(start !== undefined && { start: start + by }),
    ...(end !== undefined && { end: end + by }),
  }
}
