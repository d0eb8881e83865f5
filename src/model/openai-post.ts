export interface PostOptions {
  /** Default: OpenAI's own. */
  readonly baseUrl: string | undefined
  /** Added to it; begins with a slash. */
  readonly path: string
  readonly apiKey: string | undefined
  readonly fetch: typeof fetch | undefined
}

const OPENAI = 'https://api.openai.com/v1'

/** Sends request bodies to a server of OpenAI's kind, with the key as a bearer token. */
export function postJson({ baseUrl, path, apiKey, fetch: send = fetch }: PostOptions) {
  const url = (baseUrl || OPENAI).replace(/\/+$/, '') + path
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
  }
  return (body: string, signal: AbortSignal): Promise<Response> => send(url, { method: 'POST', headers, body, signal })
}
