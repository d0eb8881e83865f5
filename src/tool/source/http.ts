import type { Tool, ToolControl, ToolFailure, ToolRequest } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import { checkHosts, type HttpToolHosts } from '../hosts.ts'
import type { StoredHttpTool } from '../stored.ts'
import { readResult } from './http-result.ts'
import { buildRequest, type HttpRequest, UnfitArgument } from './http-request.ts'
import { redactor, type Redactor } from './redact.ts'

export interface HttpOptions {
  readonly hosts: HttpToolHosts
  /** The value of a secret, such as `SECRET_WEATHER`. */
  readonly secret: (name: string) => string | undefined
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  readonly now?: () => number
}

/**
 * Calls an HTTP tool: one request, to a host that the deployment allows, that follows no redirect and ends with the
 * call's deadline or its abort. Secrets are looked up here and nowhere else, and are in no outcome. Expects arguments
 * that fit the schema.
 */
export function callHttp(stored: StoredHttpTool, options: HttpOptions): Tool['call'] {
  const { name, http } = stored
  const { fetch = globalThis.fetch.bind(globalThis), now = Date.now } = options
  return async (request, control) => {
    const secrets = new Map((http.secrets ?? []).map((name) => [name, options.secret(name)]))
    const missing = [...secrets].flatMap(([name, value]) => (value ? [] : [`${name} has no value`]))
    const faults = [...checkHosts(stored, options.hosts).map(({ message }) => message), ...missing]
    if (faults.length > 0) return failure('tool_misconfigured', `The tool "${name}" is not set up.`, faults.join('\n'))
    const redact = redactor([...secrets.values()].filter((value) => value !== undefined))
    const built = build(stored, request, secrets)
    if ('ok' in built) return built
    const { url, ...init } = built
    const end = endOf(name, request.context.deadline - now(), control)
    try {
      // A call whose time is up already must not have an effect.
      const early = end.outcome()
      if (early) return early
      const response = await fetch(url, { ...init, redirect: 'manual', signal: end.signal })
      return await readResult(name, response, http, redact)
    } catch (error) {
      return end.outcome() ?? unreachable(name, error, redact)
    } finally {
      end.clear()
    }
  }
}

function build(
  { name, http }: StoredHttpTool,
  { arguments: args, context }: ToolRequest,
  secrets: ReadonlyMap<string, unknown>,
): HttpRequest | ToolFailure {
  try {
    const built = buildRequest(http, new Map(Object.entries(args)), secrets)
    if (http.method === 'GET' || http.method === 'HEAD') return built
    return { ...built, headers: { ...built.headers, 'idempotency-key': context.idempotencyKey } }
  } catch (error) {
    if (!(error instanceof UnfitArgument)) throw error
    return failure('invalid_arguments', `The arguments of "${name}" do not fit: ${error.message}`)
  }
}

interface CallEnd {
  /** Aborts when nobody waits for the outcome any more. */
  readonly signal: AbortSignal
  /** What the call came to, once it has been given up. */
  outcome(): ToolFailure | undefined
  clear(): void
}

const LONGEST_TIMER = 2 ** 31 - 1

function endOf(name: string, leftMs: number, control: ToolControl): CallEnd {
  const abort = new AbortController()
  let outcome: ToolFailure | undefined
  const giveUp = (code: string, why: string): void => {
    outcome ??= failure(code, `${why}; whether it took effect is unknown.`)
    abort.abort()
  }
  const timeUp = (): void => giveUp('timeout', `The tool "${name}" did not answer in time`)
  if (leftMs <= 0) timeUp()
  const timer = setTimeout(timeUp, Math.min(leftMs, LONGEST_TIMER))
  // A control that fails belongs to a host that is gone: then nobody is left to abort anything.
  control.whenAborted().then(
    (reason) => {
      if (reason === 'timeout') timeUp()
      else if (reason !== 'settled') giveUp('cancelled', `The call of "${name}" was cancelled`)
    },
    () => {},
  )
  return { signal: abort.signal, outcome: () => outcome, clear: () => clearTimeout(timer) }
}

function unreachable(name: string, error: unknown, redact: Redactor): ToolFailure {
  const detail = redact.text(error instanceof Error ? `${error.message} ${causeOf(error)}`.trim() : String(error))
  const message = `The service of "${name}" could not be reached.`
  return { ok: false, error: { code: 'http_unreachable', message, detail, retryable: true } }
}

function causeOf({ cause }: Error): string {
  return cause instanceof Error ? `(${cause.message})` : ''
}
