import { readExactly } from '../../contract/exact-numbers.ts'
import { partAt, pointerKeys } from '../../contract/json.ts'
import { binaryOf, type BodyStart, decodeStrictly, decodeText, readBody } from '../../contract/bytes.ts'
import { secretFilter, type SecretFilter } from '../../contract/secrets.ts'
import { LONGEST_TIMER_MS, retryAfterMs, within } from '../../contract/time-limit.ts'
import { failure, type ToolFailure, type ToolOutcome, type ToolSuccess } from '../../contract/tool.ts'
import { compactPart, mayDiffer } from './exact-json.ts'
import { plainFault, RESULT_LIMITS } from '../../schema/document.ts'

const MOST_BYTES = 1024 * 1024
const MOST_EXCERPT_BYTES = 16 * 1024
const MOST_EXCERPT = 300

/** What a response answers, and how it is read. */
export interface HttpCallPart {
  readonly tool: string
  /** What was asked, which a redirect is relative to. */
  readonly url: string
  /** A JSON pointer to the part that is the result; `text` for the text as it is. */
  readonly pointer: string
  readonly redact: Redactor
  /** Whether the request may have changed something. */
  readonly hasEffect: boolean
  /** How long the body of an answer to a request with an effect may take, in milliseconds. */
  readonly bodyMs: number
}

/**
 * Turns a response into an outcome, by its status. A status that is not 2xx is the failure `http_<status>`, with how long
 * the service asks to wait. After a 2xx a request with an effect has succeeded, whatever its body is: a model that is told
 * of a failure would send it again. A body is the part of its JSON that `pointer` names; where nothing names a part, any
 * text is shown as it is; at most 1 MiB of it is read. Only if nothing was to be changed is a body that cannot be shown a
 * failure. No secret is in the outcome.
 */
export async function readHttpResult(response: Response, part: HttpCallPart): Promise<ToolOutcome> {
  const { tool, redact, hasEffect, bodyMs } = part
  const { ok, status, headers } = response
  if (!ok) return readFailure(response, part)
  const reading = readBody(response, MOST_BYTES)
  // The answer to a request with an effect is told of while there is time, even if its body has no end.
  const body = hasEffect
    ? await within<BodyStart | undefined>(
        bodyMs,
        reading.catch(() => undefined),
        undefined,
      )
    : await reading
  const unshown = (code: string, problem: string, detail?: string) =>
    hasEffect
      ? textOutcome(`The service of "${tool}" answered ${status} ${problem}; its content cannot be shown.`)
      : failure(code, `The service of "${tool}" answered ${problem}.`, detail)
  if (!body) return unshown('', 'with a body that did not come to its end')
  const text = textOf(body, headers.get('content-type') ?? '')
  if (text?.trim() === '' && body.isComplete) {
    const location = headers.get('location')
    const isNew = status === 201 || status === 202
    return textOutcome(isNew && location !== null ? `Success: ${redact.text(location)}` : 'Success')
  }
  if (text === undefined) return unshown('unsupported_content', 'with neither JSON nor text')
  if (!body.isComplete) {
    const problem = `with more than ${MOST_BYTES} bytes`
    return hasEffect
      ? textOutcome(
          `The service of "${tool}" answered ${status} ${problem}, which begin:\n${redact.pieces().add(text).slice(0, MOST_EXCERPT_BYTES)}`,
        )
      : unshown('result_too_large', problem)
  }
  const result = readPart(text, kindOf(headers.get('content-type') ?? ''), part)
  return !result.ok && hasEffect ? textOutcome(redact.text(text)) : result
}

/** Reads the part of an answer that the definition asks for, of a text that is whole. */
function readPart(text: string, kind: 'json' | 'text' | 'other', { tool, pointer, redact }: HttpCallPart): ToolOutcome {
  const fail = (code: string, problem: string, detail?: string) =>
    failure(code, `The service of "${tool}" answered ${problem}`, detail)
  if (pointer === 'text' || (kind === 'text' && pointer === '')) return textOutcome(redact.text(text))
  const value = readExactly(text)
  // Nothing says that it is JSON: a number or a word is text.
  const isText = value === undefined || (kind === 'other' && typeof value !== 'object')
  if (isText && pointer === '') return textOutcome(redact.text(text))
  if (value === undefined) {
    return fail('result_not_json', 'with JSON that does not parse.', redact.text(text).slice(0, MOST_EXCERPT))
  }
  const fault = plainFault(value, RESULT_LIMITS)
  if (fault) return fail('result_unusable', 'with unusable JSON.', fault.message)
  const part = partAt(value, pointerKeys(pointer))
  if (part === undefined) return fail('result_missing', `without "${pointer}".`)
  const redacted = redact.json(part)
  if (typeof redacted === 'string') return textOutcome(redacted)
  const written = JSON.stringify(redacted)
  const isWhole = mayDiffer(text) && written === JSON.stringify(part)
  return { ...textOutcome(isWhole ? compactPart(text, pointerKeys(pointer)) : written), structured: redacted }
}

/** Matches what a page does not show. */
const MARKUP = /<(style|script)\b[^]*?<\/\1>|<[^>]*>/gi

const NO_BODY: BodyStart = { bytes: new Uint8Array(), isComplete: true }

/** Reads an answer that is not 2xx. What its status says holds even if its body breaks off. */
async function readFailure(response: Response, { tool, url, redact }: HttpCallPart): Promise<ToolFailure> {
  const { status, headers } = response
  if (status < 400) {
    await response.body?.cancel()
    // A browser's fetch shows a redirect that it did not follow as status 0.
    return failure(`http_${status}`, `The service of "${tool}" answered ${redirection(response, url, redact)}`)
  }
  const body = await readBody(response, MOST_EXCERPT_BYTES).catch(() => NO_BODY)
  const type = headers.get('content-type') ?? ''
  const source = textOf(body, type) ?? ''
  const text = /html/i.test(type) ? source.replace(MARKUP, ' ') : source
  const excerpt = excerptOf(body.isComplete ? redact.text(text) : redact.pieces().add(text))
  const waitMs = waitOf(response, text)
  const wish = waitMs === undefined ? '' : ` and asks to wait ${Math.ceil(waitMs / 1000)} seconds before the next call`
  const message = `The service of "${tool}" answered ${status}${wish}${excerpt === '' ? '.' : `: ${excerpt}`}`
  const { error } = failure(`http_${status}`, message)
  return {
    ok: false,
    error: {
      ...error,
      ...((status === 429 || status >= 500 || waitMs !== undefined) && { retryable: true }),
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    },
  }
}

/** Says what a redirect means. Of a move for good it names the address, without a user name and a query. */
function redirection({ status, headers }: Response, url: string, redact: Redactor): string {
  const next = URL.parse(headers.get('location') ?? '', url)
  const isMove = (status === 301 || status === 308) && headers.has('location')
  if (!isMove || !next || !/^https?:$/.test(next.protocol)) return 'with a redirect, which is not followed.'
  const address = redact.text(next.origin + next.pathname)
  return `${status}: it has moved to ${address} for good. Nothing was sent there: the definition of the tool must name that address.`
}

/**
 * Returns how long a service asks to wait, in milliseconds: by `Retry-After`, or where a 403 or 429 says that no requests are
 * left, by the time at which there are more, as GitHub says it (`x-ratelimit-reset`, in seconds since 1970) and drafts of
 * the IETF (`ratelimit-reset`, in seconds from now). A 403 for too many requests without a time means a minute:
 * https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
 */
function waitOf({ status, headers }: Response, text: string): number | undefined {
  const retryMs = retryAfterMs((name) => headers.get(name))
  if (retryMs !== undefined || (status !== 403 && status !== 429)) return retryMs
  for (const prefix of ['x-ratelimit-', 'ratelimit-']) {
    const [remaining, reset] = [headers.get(`${prefix}remaining`), headers.get(`${prefix}reset`) ?? '']
    if (!/^0(?:\.0+)?$/.test(remaining ?? '') || !/^\d{1,10}(?:\.\d+)?$/.test(reset)) continue
    const ms = Number(reset) > A_TIME ? Number(reset) * 1000 - Date.now() : Number(reset) * 1000
    return Math.min(Math.max(0, Math.ceil(ms)), LONGEST_TIMER_MS)
  }
  return status === 403 && /\brate limit/i.test(text) ? A_MINUTE : undefined
}

const A_MINUTE = 60_000

/** More seconds than anybody is asked to wait: from here on they are a time, counted from 1970. */
const A_TIME = 1_000_000_000

function textOutcome(text: string): ToolSuccess {
  return { ok: true, content: [{ type: 'text', text }] }
}

function excerptOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MOST_EXCERPT ? `${line.slice(0, MOST_EXCERPT - 1)}…` : line
}

function kindOf(contentType: string): 'json' | 'text' | 'other' {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return 'json'
  return /^(?:text\/.+|application\/(?:[\w.+-]+\+)?(?:xml|yaml))$/.test(type) ? 'text' : 'other'
}

/** What no text has, in UTF-8: NUL and most other control characters. Sequences of JSON begin with a record separator. */
// eslint-disable-next-line no-control-regex
const BINARY = /[\0-\u0008\u000e-\u001a\u001c\u001d\u007f]/

/**
 * Decodes a body, in the charset that it says or begins with. What does not say that it is JSON or text is text if it can
 * be: undefined if it cannot.
 */
function textOf({ bytes, isComplete }: BodyStart, contentType: string): string | undefined {
  const charset = charsetOf(bytes, contentType)
  if (kindOf(contentType) !== 'other') {
    const text = decodeText(bytes, charset)
    // Older services write Latin-1 without saying so. What has some other characters is in UTF-8, and damaged.
    const isLatin = charset === undefined && text.includes('\ufffd') && !/[^\p{ASCII}\ufffd]/u.test(text)
    return isLatin ? decodeText(bytes, 'windows-1252') : text
  }
  const text = decodeStrictly(bytes, charset, { isCut: !isComplete })
  return text === undefined || BINARY.test(text) ? undefined : text
}

/** Returns the charset that a body begins with, its type names, or the start of its XML (RFC 7303) or HTML. */
function charsetOf(bytes: Uint8Array, contentType: string): string | undefined {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  const [, label] = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType) ?? []
  if (label !== undefined || !/xml|html/i.test(contentType)) return label
  const start = decodeText(bytes.subarray(0, 1024), 'latin1')
  const [, own] = /<(?:\?xml|meta)\s[^>]{0,200}?(?:encoding|charset)\s*=\s*["']?([\w-]+)/i.exec(start) ?? []
  // What can be read here is not in UTF-16, whatever it says.
  return own !== undefined && /^utf-?16/i.test(own) ? undefined : own
}

/** Removes known secrets from what a server sent back, in every form in which servers echo what they were sent. */
export interface Redactor extends SecretFilter {
  /** Redacts a stream of bytes, text or not. A secret is found wherever the chunks cut it. */
  readonly stream: (body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>
}

/** Redacts nothing. */
const NONE: Redactor = {
  text: (text) => text,
  json: (value) => value,
  pieces: () => ({ add: (piece) => piece, rest: () => '' }),
  stream: (body) => body,
}

/** Makes a redactor of the secrets of one tool, of any length. */
export function redactor(secrets: readonly string[]): Redactor {
  const filter = secretFilter(secrets, { least: 1 })
  return filter ? { ...filter, stream: (body) => body.pipeThrough(redactBytes(filter)) } : NONE
}

function redactBytes({ pieces }: SecretFilter): TransformStream<Uint8Array, Uint8Array> {
  const text = pieces()
  const send = (controller: TransformStreamDefaultController<Uint8Array>, piece: string) => {
    if (piece !== '') controller.enqueue(Uint8Array.from(piece, (char) => char.charCodeAt(0)))
  }
  return new TransformStream({
    transform: (chunk, controller) => send(controller, text.add(binaryOf(chunk))),
    flush: (controller) => send(controller, text.rest()),
  })
}
