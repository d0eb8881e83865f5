import { OutOfTime, readBody, ToolError, withTimeLimit } from 'edgecall/tool'
import { checkAddress } from './address.ts'
import { decodeBody } from './body.ts'
import { timeoutOf, type WebEnv } from './env.ts'
import { readHtml } from './html.ts'

/** A web page, converted to text. */
export interface Page {
  /** The address after all redirects. */
  readonly url: string
  /** `''` for a page without a title. */
  readonly title: string
  readonly text: string
  /** False if the page exceeds 1 MiB, so that only its beginning was read. */
  readonly isComplete: boolean
}

export interface FetchOptions {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly signal: AbortSignal
  /** WEB_TIMEOUT_MS limits the whole request, redirects included. */
  readonly env: WebEnv
}

const MOST_BYTES = 1024 * 1024
const MOST_REDIRECTS = 3
const REDIRECTS = [301, 302, 303, 307, 308]

/**
 * Reads a public page of HTML, plain text or Markdown, 1 MiB at most. Up to three redirects are followed by hand, and
 * each location is checked as the first address is. Throws a ToolError for every failure.
 */
export async function fetchPage(address: string, { fetch, signal, env }: FetchOptions): Promise<Page> {
  const first = checkAddress(address)
  const timeoutMs = timeLimitOf(env)
  try {
    return await withTimeLimit(
      timeoutMs,
      async (within) => {
        const { url, response } = await follow(first, (href) => fetch(href, { ...INIT, signal: within }))
        return await toPage(url, response)
      },
      signal,
    )
  } catch (error) {
    throw error instanceof ToolError ? error : failureOf(error, first, signal)
  }
}

function timeLimitOf(env: WebEnv): number {
  try {
    return timeoutOf(env)
  } catch (cause) {
    const message = 'The page reader is misconfigured. Trying again will not help.'
    throw new ToolError(message, { code: 'page_misconfigured', cause })
  }
}

const INIT: RequestInit = {
  headers: { accept: 'text/html, application/xhtml+xml, text/plain;q=0.9', 'user-agent': 'edgecall' },
  redirect: 'manual',
}

interface FinalResponse {
  readonly url: URL
  readonly response: Response
}

async function follow(first: URL, get: (href: string) => Promise<Response>): Promise<FinalResponse> {
  let url = first
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const response = await get(url.href)
    const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null
    if (location === null) return { url, response }
    await response.body?.cancel()
    url = checkAddress(location, url)
  }
  throw new ToolError(`The page at ${first.host} redirects more than ${MOST_REDIRECTS} times.`, {
    code: 'page_redirects',
  })
}

async function toPage(url: URL, response: Response): Promise<Page> {
  const contentType = response.headers.get('content-type') ?? ''
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  const isHtml = type === 'text/html' || type === 'application/xhtml+xml'
  if (!response.ok || !(isHtml || type === 'text/plain' || type === 'text/markdown')) {
    await response.body?.cancel()
    throw response.ok ? notText(url, type) : statusError(url, response.status)
  }
  const { bytes, isComplete } = await readBody(response, MOST_BYTES)
  const source = decodeBody(bytes, contentType)
  return { url: url.href, isComplete, ...(isHtml ? readHtml(source) : { title: '', text: source.trim() }) }
}

function statusError({ host }: URL, status: number): ToolError {
  const retryable = status === 429 || status >= 500
  return new ToolError(`The page could not be read: ${host} answered HTTP ${status}.`, {
    code: 'page_unavailable',
    ...(retryable && { retryable }),
  })
}

function notText({ host }: URL, type: string): ToolError {
  const what = /^[\w.+/-]{1,100}$/.test(type) ? type : 'something unnamed'
  return new ToolError(`${host} answered with ${what}, not with a page of text. Read another page.`, {
    code: 'page_no_text',
  })
}

function failureOf(cause: unknown, { host }: URL, signal: AbortSignal): ToolError {
  if (signal.aborted) return new ToolError('Reading the page was cancelled.', { code: 'cancelled', cause })
  if (cause instanceof OutOfTime) {
    const text = `The page could not be read: ${host} took too long to answer.`
    return new ToolError(text, { code: 'page_timeout', retryable: true, cause })
  }
  const text = `The page could not be read: ${host} could not be reached.`
  return new ToolError(text, { code: 'page_unavailable', retryable: true, cause })
}
