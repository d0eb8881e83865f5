import type { ToolOutcome } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import type { HttpCall } from '../http-call.ts'
import { plainFault } from '../plain.ts'
import { keysOf, partAt } from '../pointer.ts'
import { toOutcome } from '../result.ts'
import { readBody } from './body.ts'
import type { Redactor } from './redact.ts'

const MOST_BYTES = 1024 * 1024
const MOST_EXCERPT_BYTES = 16 * 1024
const MOST_EXCERPT = 300
const JSON_LIMITS = { depth: 64, values: 1_000_000 }

/**
 * What a response comes to: the part of its JSON that `result` points to, its text, or the failure `http_<status>`.
 * Redirects are failures, as is what is neither JSON nor text, or more than 1 MiB. No secret is in the outcome.
 */
export async function readResult(
  tool: string,
  response: Response,
  { result = '' }: HttpCall,
  redact: Redactor,
): Promise<ToolOutcome> {
  if (!response.ok) return refusal(tool, response, redact)
  const type = contentType(response)
  const { text, whole } = await readBody(response, type === 'other' ? 0 : MOST_BYTES)
  if (whole && text === '') return toOutcome(undefined)
  if (type === 'other') {
    return failure('unsupported_content', `The service of "${tool}" answered with neither JSON nor text.`)
  }
  if (!whole)
    return failure('result_too_large', `The service of "${tool}" answered with more than ${MOST_BYTES} bytes.`)
  if (result === 'text' || (type === 'text' && result === '')) return toOutcome(redact.text(text))
  return select(tool, text, result, redact)
}

function select(tool: string, text: string, pointer: string, redact: Redactor): ToolOutcome {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const excerpt = redact.text(text).slice(0, MOST_EXCERPT)
    return failure('result_not_json', `The service of "${tool}" answered with JSON that does not parse.`, excerpt)
  }
  const fault = plainFault(value, JSON_LIMITS)
  if (fault) return failure('result_unusable', `The service of "${tool}" answered with unusable JSON.`, fault.message)
  const part = partAt(value, keysOf(pointer))
  if (part === undefined) return failure('result_missing', `The service of "${tool}" answered without "${pointer}".`)
  const shown = redact.json(part)
  return shown === null ? { ok: true, content: [{ type: 'text', text: 'null' }], structured: null } : toOutcome(shown)
}

async function refusal(tool: string, response: Response, redact: Redactor): Promise<ToolOutcome> {
  const { status } = response
  const code = `http_${status}`
  // A browser's fetch shows a redirect that it did not follow as status 0.
  if (status < 400) {
    await response.body?.cancel()
    return failure(code, `The service of "${tool}" answered with a redirect, which is not followed.`)
  }
  const { text, whole } = await readBody(response, contentType(response) === 'other' ? 0 : MOST_EXCERPT_BYTES)
  const excerpt = excerptOf(redact.text(whole ? text : text.slice(0, -redact.longest || undefined)))
  const message = `The service of "${tool}" answered ${status}${excerpt === '' ? '.' : `: ${excerpt}`}`
  const retryable = status === 429 || status >= 500
  return { ok: false, error: { code, message, ...(retryable && { retryable }) } }
}

function excerptOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MOST_EXCERPT ? `${line.slice(0, MOST_EXCERPT - 1)}…` : line
}

function contentType(response: Response): 'json' | 'text' | 'other' {
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return 'json'
  return /^(?:text\/.+|application\/(?:[\w.+-]+\+)?(?:xml|yaml))$/.test(type) ? 'text' : 'other'
}
