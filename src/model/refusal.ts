import { parseJson } from '../contract/json.ts'
import type { ModelError } from '../contract/model.ts'
import { decodeText, readBody } from '../contract/read-body.ts'
import { retryAfterMs } from '../contract/retry-after.ts'
import type { AnswerCodec } from '../wire/provider/model-answer.ts'
import { modelError, type ProviderFault } from '../wire/provider/model-error.ts'

/** Matches the delay before a retry, which Google gives only in the body (`google.rpc.RetryInfo`). */
const RETRY_INFO = /"retryDelay": *"([\d.]+)s"/

const REDIRECT =
  'The model server answered with a redirect, which is not followed: correct the base URL of the provider.'

/** Converts an error response: the status decides the code, the body explains it, the headers say when to retry. */
export async function refusedResponse(response: Response, explain: AnswerCodec['explain']): Promise<ModelError> {
  const { status, headers } = response
  // A browser's fetch shows a redirect that it did not follow as status 0.
  if (status < 400) {
    await response.body?.cancel()
    return modelError({ message: REDIRECT, status })
  }
  // A body that breaks off is ignored; the status is enough.
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

/** Reads at most `most` bytes of a body as text, default 64 KiB; the rest is not fetched. Rejects if it breaks off. */
export async function readText(response: Response, most = 64 * 1024): Promise<string> {
  return decodeText((await readBody(response, most)).bytes)
}

function explained(text: string, explain: AnswerCodec['explain']): ProviderFault | undefined {
  const json = parseJson(text)
  if (typeof json === 'object') return explain(json)
  // Plain text may be shown, an HTML page may not.
  const message = (typeof json === 'string' ? json : text).trim()
  return message === '' || message.startsWith('<') ? undefined : { message }
}
