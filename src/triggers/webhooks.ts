import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { readBody } from '../contract/bytes.ts'
import type { Report, Setup } from '../contract/setup.ts'
import { messageOf } from '../contract/thrown.ts'
import { listVar, textVar } from '../contract/vars.ts'
import type { EdgeEnv } from '../http/context.ts'
import { countAddress } from '../http/middleware/rate.ts'
import { Problem } from '../http/problem.ts'
import { bodyTooLarge, refuseCompression } from '../http/request-body.ts'
import type { Surface } from '../http/surface.ts'
import { conversationStub } from '../http/runs/conversation-stub.ts'
import { reasonToWithhold } from './answers.ts'
import type { StartOutcome } from './start-run.ts'
import {
  callerByKeyId,
  startRun,
  type Trigger,
  type TriggerEnv,
  type Triggers,
  type WebhookEvent,
  type WebhookRun,
  type WebhookTrigger,
} from './triggers.ts'
import { readBodyContent, type SignedRequest } from './verify.ts'

/**
 * Makes `/triggers/{name}` for requests that other services have signed. The signature is the right to send them. An edge
 * that is open, which answers on one machine alone, also lists its triggers, and tries those of queues and webhooks with
 * what anyone sends, as `edgecall trigger` does.
 */
export function webhookRoutes(triggers: Triggers): Surface {
  const app = new Hono<EdgeEnv>()
  const find = (name: string) => (Object.hasOwn(triggers, name) ? triggers[name] : undefined)
  app.get('/', (c) => {
    requireOpen(c.env.setup)
    return c.json(Object.entries(triggers).map(([name, trigger]) => ({ name, ...sourceOf(trigger) })))
  })
  app.post('/:name/try', async (c) => {
    const { setup, waitUntil } = c.env
    requireOpen(setup)
    const name = c.req.param('name')
    const trigger = find(name)
    const id = crypto.randomUUID()
    const request = await readRequest(c)
    const event = eventOf(request, id, await readBodyContent(request))
    const env = setup.triggerEnv ?? {}
    if (trigger?.on === 'queue') {
      const value = { id, body: event.body ?? event.text, attempts: 1 }
      return answerRun(await startRun(setup, { name, trigger, event: { id, value }, env }, { waitUntil }))
    }
    if (trigger?.on !== 'webhook') throw noSuchTrigger()
    return answerRun(await startRun(setup, { name, trigger, event: { id, value: event }, env }, { waitUntil }))
  })
  app.all('/:name', async (c) => {
    const { setup } = c.env
    const name = c.req.param('name')
    const trigger = find(name)
    if (trigger?.on !== 'webhook') throw noSuchTrigger()
    const { secret, verify, content = readBodyContent } = trigger.scheme
    const env = setup.triggerEnv ?? {}
    const request = await readRequest(c)
    const verdict = await verify(request, listVar(env, secret) ?? [], env)
    // Anyone may ask whether this is the right address.
    if (typeof verdict !== 'string') countAddress(setup, c.req.raw)
    if (verdict instanceof Response) return verdict
    if (verdict === undefined) throw invalidSignature()
    const body = await content(request, env)
    if (body === undefined && trigger.scheme.content) throw invalidSignature()
    return answerEvent(c, { name, trigger, event: eventOf(request, verdict, body), request, env })
  })
  return { routes: { '/triggers': app }, isPublic: true, limitsRate: true }
}

interface Delivery {
  readonly name: string
  readonly trigger: WebhookTrigger
  readonly event: WebhookEvent
  readonly request: SignedRequest
  readonly env: TriggerEnv
}

/** Starts the run of an event, and answers the service, as the trigger or the scheme says. */
async function answerEvent(c: Context<EdgeEnv>, { name, trigger, event, request, env }: Delivery): Promise<Response> {
  const { setup, waitUntil } = c.env
  const { scheme, answer, waitMs = 0 } = trigger
  const starting = startRun(setup, { name, trigger, event: { id: event.id, value: event }, env }, { waitUntil })
  // A service that hangs up does not stop it.
  waitUntil(starting)
  const outcome = await starting
  if (outcome?.ok === false || (!answer && !scheme.acknowledge)) return answerRun(outcome)
  if (!answer) return scheme.acknowledge?.(request) ?? answerRun(outcome)
  const run = outcome && (await describeRun(setup, { ...outcome, as: trigger.as, until: request.now + waitMs }))
  return answer(event, run, { ...env })
}

/** Returns a run as it stands once it has ended or waits, or at `until`, in epoch milliseconds. */
async function describeRun(
  setup: Setup,
  { run: id, conversation, as, until }: { run: string; conversation: string; as: string; until: number },
): Promise<WebhookRun> {
  const atStart: WebhookRun = { id, conversation, status: 'running', answer: '' }
  const waitMs = until - Date.now()
  if (waitMs <= 0) return atStart
  try {
    const caller = await callerByKeyId(setup, as)
    const stub = caller && conversationStub({ setup, caller }, conversation)
    const reply = await stub?.record(id, waitMs)
    if (!stub || !reply?.ok) return atStart
    const { status, answer } = reply.record
    if (status !== 'completed' || answer === '') return { ...atStart, status }
    const read = await stub.callerRun(id)
    const detail = reasonToWithhold(setup, read.ok ? read.marks : undefined)
    if (detail === undefined) return { ...atStart, status, answer }
    setup.report({
      event: 'answer.not_sent',
      runId: id,
      to: 'response',
      tenant: caller.tenant,
      key: caller.key,
      detail,
    })
    return { ...atStart, status }
  } catch (error) {
    // The run continues, whatever is answered.
    setup.report({ event: 'trigger.failed', source: 'triggers', detail: messageOf(error) })
    return atStart
  }
}

/**
 * Reports triggers with the same secret. A signature says nothing of the address, so each of them accepts, once, what was
 * signed for another one.
 */
export function reportSharedSecrets(triggers: Triggers, env: TriggerEnv, report: Report): void {
  const entries = Object.entries(triggers).flatMap(([name, trigger]) =>
    trigger.on === 'webhook' ? (listVar(env, trigger.scheme.secret) ?? []).map((secret) => ({ name, secret })) : [],
  )
  for (const sharing of Map.groupBy(entries, ({ secret }) => secret).values()) {
    const names = [...new Set(sharing.map(({ name }) => name))]
    if (names.length > 1) report({ event: 'trigger.shared_secret', triggers: names })
  }
}

/** Reads a request as its service knows it: `EDGE_URL` may name another address than the one it came to. */
async function readRequest({ req: { raw }, env: { setup } }: Context<EdgeEnv>): Promise<SignedRequest> {
  refuseCompression(raw)
  const most = setup.config.maxBodyBytes
  const { bytes, isComplete } = await readBody(raw, most)
  if (!isComplete) throw bodyTooLarge(most)
  const { method, headers, url } = raw
  const address = textVar(setup.triggerEnv ?? {}, 'EDGE_URL')?.replace(/\/+$/, '')
  return {
    ...{ method, headers, bytes, body: new TextDecoder().decode(bytes), now: Date.now() },
    url: address === undefined ? url : url.replace(/^https?:\/\/[^/?#]*/, address),
  }
}

function eventOf({ method, url, headers, bytes, body: text }: SignedRequest, id: string, body: unknown): WebhookEvent {
  return { id, method, url, headers, body, text, bytes }
}

/** Answers with the run of an event. Throws a Problem if it was not started. */
function answerRun(outcome: StartOutcome | undefined): Response {
  if (!outcome) return new Response(null, { status: 204 })
  if (outcome.ok) return Response.json({ run: outcome.run, conversation: outcome.conversation }, { status: 202 })
  const { status, code, message, retryAfterMs } = outcome
  throw new Problem({ status, code, message, retryAfterMs })
}

function invalidSignature(): Problem {
  const message = 'The signature is missing, wrong or older than five minutes.'
  return new Problem({ status: 401, code: 'invalid_signature', message })
}

function noSuchTrigger(): Problem {
  return new Problem({ status: 404, code: 'not_found', message: 'There is no such trigger.' })
}

function requireOpen({ config }: Setup): void {
  if (config.auth !== 'open') throw noSuchTrigger()
}

/** Returns what sends the events of a trigger, without functions. */
function sourceOf(trigger: Trigger): Pick<Trigger, 'on' | 'as'> & { readonly cron?: string; readonly queue?: string } {
  const { on, as } = trigger
  if (trigger.on === 'cron') return { on, as, cron: trigger.cron }
  return trigger.on === 'queue' ? { on, as, queue: trigger.queue } : { on, as }
}
