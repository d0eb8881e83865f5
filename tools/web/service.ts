/**
 * Asks the search service, over HTTP. Its contract:
 *
 *     GET {SEARCH_URL}/search?q=AI+news&count=5
 *     Authorization: Bearer {SEARCH_TOKEN}               if that secret is set
 *     200  { "results": [{ "title": "…", "url": "https://…", "snippet"?: "…", "date"?: "2026-11-20" }],
 *            "source"?: "search.example.com" }           the best result first
 *
 * Texts that are too long are cut, and malformed results are dropped. Without a `source`, the service's host is the
 * source. Any other status or body counts as a failure of the service.
 */
import * as v from 'valibot'
import { OutOfTime, readBody, ToolError, withTimeLimit } from 'edgecall/tool'
import { timeoutOf, type WebEnv } from './env.ts'
import { standIn } from './stand-in.ts'

export interface SearchResult {
  readonly title: string
  readonly url: string
  readonly snippet?: string | undefined
  /** YYYY-MM-DD */
  readonly date?: string | undefined
}

export interface Search {
  readonly results: readonly SearchResult[]
  readonly source: string
}

const STAND_IN_URL = 'http://stand-in'
const MOST_BYTES = 256 * 1024

// A model reads these texts, so a faulty service must not be able to fill its context window.
const cut = (length: number) =>
  v.pipe(
    v.string(),
    v.transform((text) => text.trim().slice(0, length).toWellFormed()),
  )
const Result = v.object({
  title: v.pipe(cut(200), v.minLength(1)),
  url: v.pipe(v.string(), v.maxLength(1000), v.regex(/^https?:\/\//i), v.url()),
  snippet: v.optional(v.fallback(v.optional(cut(500)), undefined)),
  date: v.optional(v.fallback(v.optional(v.pipe(v.string(), v.isoDate())), undefined)),
})
const Answer = v.object({
  results: v.array(v.fallback(v.nullable(Result), null)),
  source: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(200))),
})

/** Asks the service at SEARCH_URL, or the stand-in if that is not set. Throws a ToolError for every failure. */
export async function askSearch(
  query: string,
  count: number,
  { env, signal }: { readonly env: WebEnv; readonly signal: AbortSignal },
): Promise<Search> {
  const { request, timeoutMs } = settingsOf(query, count, env)
  const ask = env.SEARCH_URL ? fetch : standIn
  try {
    const bytes = await withTimeLimit(
      timeoutMs,
      async (within) => {
        const response = await ask(request, { redirect: 'manual', signal: within })
        if (response.ok) return (await readBody(response, MOST_BYTES)).bytes
        await response.body?.cancel()
        throw unavailable(`it answered HTTP ${response.status}`)
      },
      signal,
    )
    const { results, source } = v.parse(Answer, JSON.parse(new TextDecoder().decode(bytes)))
    const matches = results.filter((result) => result !== null).slice(0, count)
    return { results: matches, source: source ?? new URL(request.url).host }
  } catch (error) {
    throw error instanceof ToolError ? error : failureOf(error, signal)
  }
}

function settingsOf(
  query: string,
  count: number,
  env: WebEnv,
): { readonly request: Request; readonly timeoutMs: number } {
  const { SEARCH_URL, SEARCH_TOKEN } = env
  const base = (SEARCH_URL || STAND_IN_URL).replace(/\/+$/, '')
  try {
    const url = `${base}/search?${new URLSearchParams({ q: query, count: String(count) }).toString()}`
    const authorization = SEARCH_TOKEN && { authorization: `Bearer ${SEARCH_TOKEN}` }
    const request = new Request(url, { headers: { accept: 'application/json', ...authorization } })
    return { request, timeoutMs: timeoutOf(env) }
  } catch (cause) {
    const message = 'The search service is misconfigured. Trying again will not help.'
    throw new ToolError(message, { code: 'search_misconfigured', cause })
  }
}

function failureOf(cause: unknown, signal: AbortSignal): ToolError {
  if (signal.aborted) return new ToolError('The search was cancelled.', { code: 'cancelled', cause })
  if (cause instanceof OutOfTime) {
    const text = 'The search service took too long to answer. Try again later.'
    return new ToolError(text, { code: 'search_timeout', retryable: true, cause })
  }
  const garbled = cause instanceof SyntaxError || v.isValiError(cause)
  return unavailable(garbled ? 'its answer is not a list of results' : 'it could not be reached', cause)
}

function unavailable(why: string, cause?: unknown): ToolError {
  return new ToolError(`The search service is not available now: ${why}. Try again later.`, {
    code: 'search_unavailable',
    retryable: true,
    cause,
  })
}
