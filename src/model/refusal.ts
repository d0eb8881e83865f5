import type { ModelError } from '../contract/model.ts'
import type { AnswerCodec } from '../wire/model-answer.ts'
import { modelError } from '../wire/model-error.ts'

/** Bytes of an error body that are read. */
const MOST_REFUSAL = 64 * 1024

/** A response that is no answer, as an error: the status decides, the body explains, the headers say when to retry. */
export async function refusal(response: Response, explain: AnswerCodec['explain']): Promise<ModelError> {
  const { status, headers } = response
  // A body that breaks off explains nothing; the status stands.
  const text = await readText(response, MOST_REFUSAL).catch(() => '')
  const { message, code } = explained(text, explain) ?? { message: `The model server answered with status ${status}.` }
  const error = modelError({ message, status, ...(code !== undefined && { code }) })
  const wait = retryAfterMs(headers, Date.now())
  const advice = headers.get('x-should-retry')
  return {
    ...error,
    ...(advice !== null && { retryable: advice === 'true' }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  }
}

/** The text of a body up to so many bytes; the rest is not fetched. Rejects where the body breaks off. */
export async function readText(response: Response, most: number): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  const decoder = new TextDecoder()
  let text = ''
  let left = most
  try {
    while (left > 0) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value.subarray(0, left), { stream: true })
      left -= value.byteLength
    }
  } finally {
    reader.cancel().catch(() => {})
  }
  return text + decoder.decode()
}

/** How long a server asks to be left alone, in milliseconds, or undefined. Takes seconds and HTTP dates. */
function retryAfterMs(headers: Headers, now: number): number | undefined {
  const exact = number(headers.get('retry-after-ms'))
  if (exact !== undefined) return exact
  const after = headers.get('retry-after')
  const seconds = number(after)
  if (seconds !== undefined) return seconds * 1000
  const date = after === null ? NaN : Date.parse(after)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function number(text: string | null): number | undefined {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}

function explained(text: string, explain: AnswerCodec['explain']): { message: string; code?: string } | undefined {
  try {
    return explain(JSON.parse(text))
  } catch {
    // No JSON: a plain sentence may be shown, a page may not.
    const sentence = text.trim()
    return sentence === '' || sentence.startsWith('<') ? undefined : { message: sentence }
  }
}
