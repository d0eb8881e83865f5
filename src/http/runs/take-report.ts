import { isObject } from '../../contract/json.ts'
import { type CallReport, MOST_PROGRESS, type ReportAddresses, type ReportedCall } from '../../contract/later.ts'
import type { SecretFilter } from '../../contract/secrets.ts'
import type { Setup } from '../../contract/setup.ts'
import { readToken, SIGNATURE_LENGTH, signToken } from '../../contract/signer.ts'
import { failure, type ToolOutcome } from '../../contract/tool.ts'
import { Outcome, readAnswer } from '../../host/worker/call.ts'
import { Problem, unwrapReply } from '../problem.ts'
import { conversationStubOfRun } from './conversation-stub.ts'
import { makeSigner } from './signer.ts'
import * as v from 'valibot'

/** Returns the call that a token names. Throws a Problem for one that this edge has not signed, or that has expired. */
export async function reportedCall({ reportAddresses }: Setup, token: string): Promise<ReportedCall> {
  const call = await reportAddresses?.read(token)
  if (!call) throw new Problem({ status: 404, code: 'unknown_call', message: 'This token names no call.' })
  if (call.expires <= Date.now()) {
    throw new Problem({ status: 410, code: 'report_expired', message: 'This token has expired.' })
  }
  return call
}

/**
 * Takes a report on a call: its progress, or its outcome, which counts once. Throws a Problem for a body of another
 * shape, and for a call that nobody waits for.
 */
export async function takeReport(setup: Setup, call: ReportedCall, body: unknown): Promise<void> {
  const { tenant, conversation, run: runId, call: callId } = call
  const report = reportOf(setup.reportAddresses?.filter?.json(body) ?? body)
  const service = conversationStubOfRun({ setup, caller: { tenant, scopes: [] } }, { runId, conversation })
  unwrapReply(await service.report(runId, callId, report))
}

const Progress = v.object({
  progress: v.object({
    message: v.exactOptional(v.string()),
    fraction: v.exactOptional(v.number()),
    data: v.exactOptional(v.unknown()),
  }),
})

function reportOf(body: unknown): CallReport {
  if (!isObject(body)) throw badReport('expected an object')
  const { result, error, outcome } = body
  if (result !== undefined) return { outcome: toSuccess(result) }
  if (typeof error === 'string') return { outcome: failure('tool_error', error) }
  if (error === undefined && outcome === undefined) {
    // Without whatever else it has: to read that would cost more than to parse it.
    const progress = readAnswer(Progress, { progress: body['progress'] })
    if (typeof progress === 'string') throw badReport(progress)
    if (JSON.stringify(progress.value.progress).length > MOST_PROGRESS) {
      const message = `A progress report has at most ${MOST_PROGRESS} characters. Store what it is about, and send a link.`
      throw new Problem({ status: 413, code: 'body_too_large', message })
    }
    return progress.value
  }
  const parsed = readAnswer(
    Outcome,
    error === undefined ? outcome : { ok: false, error: { code: 'tool_error', ...error } },
  )
  if (typeof parsed === 'string') throw badReport(parsed)
  if (parsed.value.ok) return { outcome: parsed.value }
  // A reported outcome is final: it neither asks for input nor comes later.
  const { input: _input, later: _later, ...final } = parsed.value
  return { outcome: final }
}

function toSuccess(result: unknown): ToolOutcome {
  if (typeof result === 'string') return { ok: true, content: [{ type: 'text', text: result }] }
  return { ok: true, content: [{ type: 'text', text: JSON.stringify(result) }], structured: result }
}

function badReport(detail: string): Problem {
  const message = `Send { "progress" }, { "result" }, { "error" } or { "outcome" }: ${detail}.`
  return new Problem({ status: 400, code: 'invalid_request', message })
}

interface ReportAddressOptions {
  /** The first one signs; tokens that any of them has signed are accepted. At least one. */
  readonly secrets: readonly string[]
  /** The public address of the edge, such as `https://edge.example.com`. Default: tokens alone are made. */
  readonly edgeUrl?: string | undefined
  /** Removes the edge's own secrets from reports. */
  readonly filter: SecretFilter | undefined
}

/** The most characters of a token. */
const MOST_TOKEN = 1024 + SIGNATURE_LENGTH

/**
 * Makes the addresses to which tools report: `/outcomes/<token>`. A token names a call and when it expires, as base64url
 * of JSON, and has the HMAC-SHA256 of that, so that a wrong one is refused without waking any conversation.
 */
export function reportAddresses({ secrets, edgeUrl, filter }: ReportAddressOptions): ReportAddresses {
  const signer = makeSigner(secrets, 'outcome')
  return {
    filter,
    make: async ({ tenant, conversation = '', run, call, expires }) => {
      const token = await signToken(signer, [tenant, conversation, run, call, expires])
      return { token, ...(edgeUrl !== undefined && { url: `${edgeUrl}/outcomes/${token}` }) }
    },
    read: async (token) => {
      const fields = token.length <= MOST_TOKEN ? await readToken(signer, token) : undefined
      return isCall(fields) ? callOf(fields) : undefined
    },
  }
}

type CallFields = readonly [tenant: string, conversation: string, run: string, call: string, expires: number]

/** What is signed holds what it was signed with: this is for the compiler. */
function isCall(fields: unknown): fields is CallFields {
  return Array.isArray(fields) && typeof fields[4] === 'number'
}

function callOf([tenant, conversation, run, call, expires]: CallFields): ReportedCall {
  return { tenant, ...(conversation !== '' && { conversation }), run, call, expires }
}
