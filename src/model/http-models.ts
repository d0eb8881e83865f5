import { isObject, type JsonObject, parseJson } from '../contract/json.ts'
import type {
  ChatModel,
  ModelCapabilities,
  ModelError,
  ModelEvent,
  ModelProvider,
  ModelRequest,
} from '../contract/model.ts'
import type { SecretFilter, TextPieces } from '../contract/secrets.ts'
import { type Listen, listen, readText, refusedResponse, type Timeouts } from './listen.ts'
import type { ProviderDialect } from '../wire/provider/dialects.ts'
import { fitRequest } from '../wire/provider/fit-request.ts'
import type { AnswerCodec } from '../wire/provider/model-answer.ts'
import { badResponse, modelError } from '../wire/provider/model-error.ts'
import { isOfItem, withItems } from '../wire/provider/refused-item.ts'
import { inWords, UnsupportedSchema } from '../wire/provider/strict-schema.ts'
import { readAnswerFrames } from '../wire/provider/answer-frames.ts'
import { fieldsOf } from '../wire/fields.ts'

interface HttpModels extends Omit<Listen, 'model' | 'openStream' | 'signal' | 'explain' | 'patience'> {
  /** The first half of the models' names. */
  readonly provider: string
  readonly capabilities: ModelCapabilities
  readonly hints?: ChatModel['hints'] | undefined
  readonly codec: AnswerCodec
  /** What the provider takes of tools. */
  readonly dialect: ProviderDialect
  /**
   * Asks the model with this name, the second half of its full name. Contract: rejects only if no response came; with
   * an UnsupportedSchema if no request was sent. `onBody` is told what is sent, as a function that returns it parsed.
   */
  readonly request: (
    model: string,
    request: ModelRequest,
    signal: AbortSignal,
    onBody: (body: () => unknown) => void,
  ) => Promise<Response>
}

/** Makes the models of a provider that gets one request for each answer. */
export function httpModels({
  provider,
  capabilities,
  hints,
  codec,
  dialect,
  request: ask,
  ...options
}: HttpModels): ModelProvider {
  return (model) => {
    const name = `${provider}/${model}`
    return {
      name,
      capabilities,
      ...(hints && { hints }),
      stream: (ownRequest, signal) => {
        const { request, answer } = fitRequest(ownRequest, dialect)
        let body: () => unknown = () => undefined
        const events = listen({
          ...options,
          model: name,
          signal,
          patience: request.patience,
          explain: unsupported,
          openStream: async (abort) =>
            answers(
              await sendRequest(() => ask(model, request, abort, (latest) => (body = latest)), abort),
              codec,
              request,
            ),
        })
        return answer(withItems(events, request.messages, () => body()))
      },
    }
  }
}

function unsupported(error: unknown): ModelError | undefined {
  return error instanceof UnsupportedSchema
    ? modelError({ message: error.message, code: 'invalid_request' })
    : undefined
}

/** Sends a request, and once more if the server closed a kept-alive connection just as the request went out on it. */
async function sendRequest(send: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
  try {
    return await send()
  } catch (error) {
    if (signal.aborted || !wasDropped(error)) throw error
    return send()
  }
}

const DROPPED = /UND_ERR_SOCKET|ECONNRESET|EPIPE|other side closed|connection (?:was )?(?:lost|closed|reset)/i

/** Returns whether a fetch failed because an open connection broke, by the error messages of Node and workerd. */
function wasDropped(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { message, cause } = error
  const code: unknown = isObject(cause) ? cause.code : ''
  return DROPPED.test(`${message} ${String(code)}`)
}

/**
 * Yields the events of an answer, those of one read together. An answer that has given its stop reason ends five seconds
 * later, if its server leaves the connection open.
 */
async function* answers(
  response: Response,
  codec: AnswerCodec,
  request: ModelRequest,
): AsyncGenerator<readonly ModelEvent[], void> {
  const { ok, status } = response
  const type = response.headers.get('content-type') ?? ''
  if (!ok) {
    yield [{ type: 'error', error: await refusedResponse(response, codec.explain) }]
    return
  }
  const body = /\bhtml\b/i.test(type) ? undefined : response.body
  const decoder = codec.decoder(request)
  let endsAt: number | undefined
  let frameCount = 0
  for await (const frames of body ? readAnswerFrames(body, () => endsAt) : []) {
    const events = frames.flatMap(decoder.push)
    frameCount += frames.length
    yield events
    if (decoder.isDone) return
    if (decoder.isOver && (endsAt === undefined || events.length > 0)) endsAt = Date.now() + AFTER_FINISH_MS
  }
  if (frameCount > 0 || /\bevent-stream\b/i.test(type)) {
    yield decoder.end(frameCount === 1 && /\bjson\b/i.test(type))
  } else {
    if (!body) await response.body?.cancel()
    const what = `The model server answered with status ${status} and "${type}", but with no event stream and no JSON.`
    yield [{ type: 'error', error: badResponse(`${what} ${WHY_NO_STREAM}`) }]
  }
}

/** How long the usage of an answer may come after its stop reason, in milliseconds. */
const AFTER_FINISH_MS = 5000

const WHY_NO_STREAM = 'A proxy may have answered in its place, or the base URL of the provider is wrong.'

/** A run of events whose texts belong together: one text, one reasoning, or the arguments of one call. */
interface OpenText {
  readonly of: string
  readonly pieces: TextPieces
  /** Makes the event with what was held back of the text. */
  readonly last: (text: string) => ModelEvent
}

/** Makes a model whose answers contain none of the secrets, wherever its events cut one. */
export function withoutSecrets(model: ChatModel, secrets: SecretFilter): ChatModel {
  return {
    ...model,
    stream: (request, signal, onRetry) => cleanEvents(model.stream(request, signal, onRetry), secrets),
  }
}

async function* cleanEvents(events: AsyncIterable<ModelEvent>, secrets: SecretFilter): AsyncGenerator<ModelEvent> {
  let open: OpenText | undefined
  for await (const event of events) {
    const of = event.type === 'call.delta' ? `${event.type} ${event.index}` : event.type
    if (open && open.of !== of) {
      const rest = open.pieces.rest()
      if (rest !== '') yield open.last(rest)
      open = undefined
    }
    switch (event.type) {
      case 'text':
      case 'reasoning': {
        const { type } = event
        open ??= { of, pieces: secrets.pieces(), last: (text) => ({ type, text }) }
        const text = open.pieces.add(event.text)
        if (text === event.text) yield event
        else if (text !== '') yield { type, text }
        break
      }
      case 'call.delta': {
        const { type, index } = event
        open ??= { of, pieces: secrets.pieces(), last: (text) => ({ type, index, arguments: text }) }
        const text = open.pieces.add(event.arguments)
        const { tool } = event
        if (text !== '' || tool !== undefined) {
          yield { ...event, arguments: text, ...(tool !== undefined && { tool: secrets.text(tool) }) }
        }
        break
      }
      case 'call':
      case 'finish':
      case 'provider.call':
      case 'error':
        yield secrets.json(event)
        break
    }
  }
  const rest = open?.pieces.rest()
  if (open && rest) yield open.last(rest)
}

type Events = AsyncIterable<ModelEvent>
type Result = IteratorResult<ModelEvent, void>

/**
 * Makes one stream of several attempts. If the first event of an attempt is an error, `next` may return another attempt
 * in its place. If it returns none, or if the first event is not an error, the stream is that attempt's to the end. Later
 * events cost nothing: they come from the attempt's own iterator.
 */
export function attempts(
  first: () => Events,
  next: (error: ModelError, failures: number) => Events | undefined | Promise<Events | undefined>,
): Events {
  return {
    [Symbol.asyncIterator]: () => {
      let attempt: AsyncIterator<ModelEvent, void> | undefined
      let hasBegun = false

      async function begin(): Promise<Result> {
        let events: Events | undefined = first()
        for (let failures = 1; ; failures += 1) {
          const iterator: AsyncIterator<ModelEvent, void> = events[Symbol.asyncIterator]()
          attempt = iterator
          const result: Result = await iterator.next()
          const failed = !result.done && result.value.type === 'error' ? result.value.error : undefined
          events = failed && (await next(failed, failures))
          if (!events) {
            hasBegun = true
            return result
          }
          await iterator.return?.()
        }
      }

      return {
        next: () => (attempt && hasBegun ? attempt.next() : begin()),
        return: async () => {
          await attempt?.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** Returns the hints of these names, by the names of the members. */
export function takeHints(hints: ModelRequest['hints'] = {}, names: readonly string[] = []): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(hints).flatMap(([name, value]) =>
      names.includes(name) ? [[name.slice(name.indexOf('.') + 1), value]] : [],
    ),
  )
}

/** Makes a stream that has this error alone. */
export async function* failing(error: ModelError): AsyncGenerator<ModelEvent, void> {
  yield { type: 'error', error }
}

export interface ServerOptions extends Timeouts {
  /** The URL of the server; the function that makes the models says up to which path. Default: the provider's own. */
  readonly baseUrl?: string | undefined
  /** The API key, which is in no message and no log. */
  readonly apiKey?: string | undefined
  /** The first half of the models' names. */
  readonly provider?: string | undefined
  readonly fetch?: typeof fetch | undefined
}

export interface PostModels extends Omit<ServerOptions, 'baseUrl'> {
  readonly provider: string
  readonly capabilities: ModelCapabilities
  readonly hints?: ChatModel['hints'] | undefined
  readonly url: (model: string) => string
  readonly headers: Readonly<Record<string, string>>
  readonly codec: AnswerCodec
  readonly dialect: ProviderDialect
  /** Encodes the body, in one of two forms. Throws an UnsupportedSchema for a schema that this provider cannot take. */
  readonly encode: (model: string, request: ModelRequest, form: RequestForm) => string
  /** Whether a request has files which it can do without, since a text names them. Default: none has. */
  readonly hasFiles?: (request: ModelRequest) => boolean
  /** Whether a request has tools of kinds that a model may refuse, which can be functions too. Default: none has. */
  readonly hasKinds?: (request: ModelRequest) => boolean
  /** Returns headers for a request. Default: none beside `headers`. */
  readonly headersFor?: (request: ModelRequest) => Readonly<Record<string, string>>
  /** Matches a refusal that the other form may cure. */
  readonly cure: RegExp
  /** Matches a refusal that the model will always repeat. Default: `cure`. */
  readonly lasts?: RegExp
}

/** In which form a request is encoded. */
export interface RequestForm {
  readonly isOther: boolean
  /** Files that it can do without are left out. */
  readonly isTextOnly: boolean
  /** All tools are functions. */
  readonly hasOnlyFunctions: boolean
}

/** What a request can do without, if a model refuses it: files, kinds of tools, and what its caller has said to the vendor. */
const EXTRAS = {
  files: {
    statuses: [400, 404, 415, 422, 500, 501],
    refusal: /image|vision|modal|media|\bfiles?\b|\bcontent\b.*\bstring/i,
  },
  kinds: { statuses: [400, 422], refusal: /custom|shell|_patch|_search|grammar|bash|editor|memory|computer/i },
  hints: {
    statuses: [400, 422],
    refusal:
      /prompt_cache|safety_identifier|prediction|reasoning.?(?:summar|context)|metadata|service_tier|speed|beta/i,
  },
} as const

type Extra = keyof typeof EXTRAS

/**
 * Makes the models of a server that gets one POST of JSON for each answer. Some servers accept only one form of a
 * request, and do not tell before they refuse the other: a request refused for that is sent once more, in the other
 * form.
 */
export function postModels(options: PostModels): ModelProvider {
  const {
    url,
    headers,
    encode,
    hasFiles,
    hasKinds,
    headersFor,
    cure,
    lasts = cure,
    apiKey,
    fetch: send = fetch,
    ...rest
  } = options
  const { codec } = rest
  /** The models known to need the other form. */
  const retriedModels = new Set<string>()
  /** Those known to take no files, kinds or hints. */
  const refusals: Readonly<Record<Extra, Set<string>>> = { files: new Set(), kinds: new Set(), hints: new Set() }

  return httpModels({
    ...rest,
    secret: apiKey,
    request: async (model, request, signal, onBody) => {
      const { traceparent } = request
      let sentBody: () => unknown = () => undefined
      const isOfPart = (text: string) => isOfItem(codec.explain(parseJson(text)), request.messages, sentBody)
      const trace: Record<string, string> = traceparent === undefined ? {} : { traceparent }
      const options = request.providerOptions?.[rest.provider]
      const post = (isOther: boolean, { hints, ...body } = request) => {
        const full = hints && !refusals.hints.has(model) ? { ...body, hints } : body
        const text = encode(model, full, {
          isOther,
          isTextOnly: refusals.files.has(model),
          hasOnlyFunctions: refusals.kinds.has(model),
        })
        const all = { ...headers, ...headersFor?.(full), ...trace }
        onBody((sentBody = () => parseJson(text)))
        return send(url(model), {
          method: 'POST',
          // The key and the conversation go to the configured server alone.
          redirect: 'manual',
          headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...all },
          body: options ? JSON.stringify(withAdditions(fieldsOf(parseJson(text)), options)) : text,
          signal,
        })
      }
      const isOther = retriedModels.has(model)
      let response = await post(isOther)
      const extras = { files: hasFiles?.(request), kinds: hasKinds?.(request), hints: request.hints !== undefined }
      for (const extra of ['files', 'kinds', 'hints'] as const) {
        const { statuses, refusal } = EXTRAS[extra]
        if (!extras[extra] || refusals[extra].has(model) || !statuses.some((each) => each === response.status)) continue
        const text = await readText(response)
        response = new Response(text, response)
        if (!refusal.test(text) || isOfPart(text)) continue
        refusals[extra].add(model)
        response = await post(isOther)
        // The refusal was of something else.
        if (!response.ok) refusals[extra].delete(model)
      }
      if (![400, 422].includes(response.status)) return response
      const text = await readText(response)
      const { responseFormat: form, ...free } = request
      if (form && form.type !== 'text' && FORM.test(text) && UNABLE.test(text)) {
        return post(isOther, { ...free, messages: [{ role: 'system', content: inWords(form) }, ...free.messages] })
      }
      // Another form would have the same part.
      if (!cure.test(text) || isOfPart(text)) return new Response(text, response)
      if (lasts.test(text)) {
        if (isOther) retriedModels.delete(model)
        else retriedModels.add(model)
      }
      return post(!isOther)
    },
  })
}

/**
 * A refusal that both of these match is from a server that cannot enforce this response format, or not beside tools,
 * such as Groq and DeepSeek: the format is then described in words. The refusal of a wrong schema does not
 * match both, and stands.
 */
const FORM = /json mode|response.?(format|mime)/i
const UNABLE = /support|unavailable|combined/i

/** Adds members to an object, and to the objects in it. What it has of the same names stays as it is. */
export function withAdditions(own: JsonObject, additions: unknown): Record<string, unknown> {
  const members = Object.entries(fieldsOf(additions)).map(([name, value]) => {
    const { [name]: present = value } = own
    return [name, isObject(present) && present !== value ? withAdditions(present, value) : present]
  })
  return { ...own, ...Object.fromEntries(members) }
}

/** Returns a URL without the slashes at its end. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
