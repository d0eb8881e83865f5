import { parseJson } from '../contract/json.ts'
import type { ModelError } from '../contract/model.ts'
import { retryAfterMs } from '../contract/retry-after.ts'
import type { AnswerCodec } from '../wire/model-answer.ts'
import { modelError, type ProviderFault } from '../wire/model-error.ts'

/** Google says in the body when to come again, and there alone (`google.rpc.RetryInfo`). */
const RETRY_INFO = /"retryDelay": *"([\d.]+)s"/

/** A response that is no answer, as an error: the status decides, the body explains, the headers say when to retry. */
export async function refusal(response: Response, explain: AnswerCodec['explain']): Promise<ModelError> {
  const { status, headers } = response
  // A body that breaks off explains nothing; the status stands.
  const text = await readText(response).catch(() => '')
  const fault = explained(text, explain) ?? { message: `The model server answered with status ${status}.` }
  const [, delay] = RETRY_INFO.exec(text) ?? []
  const wait = retryAfterMs((name) => headers.get(name) ?? (name === 'retry-after' && delay))
  const advice = headers.get('x-should-retry')
  return {
    ...modelError({ ...fault, status }),
    ...(advice !== null && { retryable: advice === 'true' }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  }
}

/** The text of a body up to so many bytes, by default 64 Ki; the rest is not fetched. Rejects where it breaks off. */
export async function readText(response: Response, most = 64 * 1024): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let left = most
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk.subarray(0, left), { stream: true })
    left -= chunk.byteLength
    if (left <= 0) break
  }
  return text + decoder.decode()
}

function explained(text: string, explain: AnswerCodec['explain']): ProviderFault | undefined {
  const json = parseJson(text)
  if (json !== undefined) return explain(json)
  // A plain sentence may be shown, a page may not.
  const message = text.trim()
  return message === '' || message.startsWith('<') ? undefined : { message }
}
