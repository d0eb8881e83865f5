import { readExactly } from '../../contract/exact-numbers.ts'
import { partAt, pointerKeys } from '../../contract/json.ts'
import { binaryOf, decodeText, readBody } from '../../contract/bytes.ts'
import { secretFilter, type SecretFilter } from '../../contract/secrets.ts'
import { failure, type ToolOutcome, type ToolSuccess } from '../../contract/tool.ts'
import { compactPart, mayDiffer } from './exact-json.ts'
import { plainFault, RESULT_LIMITS } from '../../schema/document.ts'

const MOST_BYTES = 1024 * 1024
const MOST_EXCERPT_BYTES = 16 * 1024
const MOST_EXCERPT = 300

/**
 * Turns a response into an outcome: the part of its JSON that `pointer` names, its text if `pointer` is `text`, or the
 * failure `http_<status>`. A redirect that was not followed is a failure, as is a body that is neither JSON nor text,
 * or longer than 1 MiB. No secret is in the outcome.
 */
export async function readHttpResult(
  tool: string,
  response: Response,
  pointer: string,
  redact: Redactor,
): Promise<ToolOutcome> {
  const fail = (code: string, problem: string, detail?: string) =>
    failure(code, `The service of "${tool}" answered ${problem}`, detail)
  const { ok, status } = response
  const type = contentType(response)
  const most = type === 'other' ? 0 : ok ? MOST_BYTES : MOST_EXCERPT_BYTES
  const { bytes, isComplete } = await readBody(response, most)
  const text = decodeText(bytes, charsetOf(response))
  if (!ok) {
    // A browser's fetch shows a redirect that it did not follow as status 0.
    if (status < 400) return fail(`http_${status}`, 'with a redirect, which is not followed.')
    const excerpt = excerptOf(isComplete ? redact.text(text) : redact.pieces().add(text))
    const { error } = fail(`http_${status}`, excerpt === '' ? `${status}.` : `${status}: ${excerpt}`)
    return { ok, error: { ...error, ...((status === 429 || status >= 500) && { retryable: true }) } }
  }
  if (isComplete && text === '') return textOutcome('Success')
  if (type === 'other') return fail('unsupported_content', 'with neither JSON nor text.')
  if (!isComplete) return fail('result_too_large', `with more than ${MOST_BYTES} bytes.`)
  if (pointer === 'text' || (type === 'text' && pointer === '')) return textOutcome(redact.text(text))
  const value = readExactly(text)
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

function textOutcome(text: string): ToolSuccess {
  return { ok: true, content: [{ type: 'text', text }] }
}

function excerptOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MOST_EXCERPT ? `${line.slice(0, MOST_EXCERPT - 1)}…` : line
}

function charsetOf(response: Response): string | undefined {
  return /;\s*charset="?([^\s";]+)/i.exec(response.headers.get('content-type') ?? '')?.[1]
}

function contentType(response: Response): 'json' | 'text' | 'other' {
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return 'json'
  return /^(?:text\/.+|application\/(?:[\w.+-]+\+)?(?:xml|yaml))$/.test(type) ? 'text' : 'other'
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
