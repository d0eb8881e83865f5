import type { AnswerTarget, ToolTarget, WebhookTarget } from '../contract/answer-target.ts'
import { SCOPES } from '../contract/api-key.ts'
import { sha256 } from '../contract/json.ts'
import type { DataMark, Message, UserContent } from '../contract/message.ts'
import { readBody } from '../contract/bytes.ts'
import { type MakeSetup, type Setup, setupOf } from '../contract/setup.ts'
import { textOfThrown } from '../contract/thrown.ts'
import type { RunStatus } from '../contract/run.ts'
import type { Caller } from '../contract/tool.ts'
import type { WaitUntil } from '../http/request-context.ts'
import { type StartFault, type StartOutcome, startTriggeredRun } from './start-run.ts'
import type { WebhookScheme } from './verify.ts'

export type TriggerEnv = Readonly<Record<string, unknown>>

/** The run that an event starts. */
export interface TriggerStart {
  /** The body of a run, as `POST /runs` takes it. */
  readonly run: Readonly<Record<string, unknown>> & { readonly input: string | readonly Message[] }
  /** The conversation of the run, which is made if it does not exist. Default: one of its own. */
  readonly conversation?: string
  /** How many days a conversation of its own is kept. Default: 30. */
  readonly keepDays?: number
  /**
   * The marks of what the run is asked, for the rule on data that may not leave. None, `[]`, only if no part of it was
   * written by others than those whom the key acts for. Default: `['untrusted']`; of cron triggers, whose events say
   * nothing, none.
   */
  readonly marks?: readonly DataMark[]
  /**
   * Where the answer goes once the run has ended; it is sent again later until that succeeds. `{ webhook }`: the message of
   * conversations' webhooks, to an https URL of `WEBHOOK_HOSTS`. `{ tool, arguments, answer }`: a call of a tool, as the
   * key of the trigger, with the answer as the argument that `answer` names. Default: the answer is stored with the run.
   */
  readonly answerTo?: WebhookTarget | ToolTarget
}

/** The run that an event of any kind starts. */
export interface StartedRun extends Omit<TriggerStart, 'answerTo'> {
  readonly answerTo?: AnswerTarget
}

/** What all triggers have. */
export interface TriggerOptions<Event, Start = TriggerStart> {
  /** The id of the API key as which the runs are started, with its scopes, budget and quotas. */
  readonly as: string
  /** The scopes that the runs have, out of those of the key. Default: all of these. */
  readonly scopes?: readonly string[]
  /** Returns the run that an event starts; undefined for none. */
  readonly start: (event: Event, env: TriggerEnv) => Start | undefined | Promise<Start | undefined>
}

/** A time of a cron trigger of the platform. */
export interface CronEvent {
  readonly cron: string
  /** Epoch milliseconds. */
  readonly scheduledTime: number
}

/** A message of a queue. */
export interface QueueEvent {
  readonly id: string
  readonly body: unknown
  /** How often it was delivered, from 1 on. */
  readonly attempts: number
}

/** A request of another service whose signature was checked. */
export interface WebhookEvent {
  /** The same for a delivery that is sent again. */
  readonly id: string
  readonly method: string
  /** The URL with its query. */
  readonly url: string
  readonly headers: Headers
  /**
   * The body as JSON, or the fields of a form by their names; undefined for any other. A number that JavaScript cannot hold is
   * a string of its digits. A field that came several times is a list; a file is `{ name, mediaType, data }`, in base64.
   */
  readonly body: unknown
  /** The body as text. */
  readonly text: string
  /** The body as it was sent. */
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** The run of an event, as it stands when the service is answered. */
export interface WebhookRun {
  readonly id: string
  readonly conversation: string
  readonly status: RunStatus
  /**
   * The answer of a run that has completed; else empty. Empty too, with `answer.not_sent` in the log, if the run has read
   * untrusted and private data, which its answer could carry to the outside.
   */
  readonly answer: string
}

/** A mail whose sender was checked. Addresses are in lower case. */
export interface EmailEvent {
  /** The `Message-ID`; the hash of a message without one. */
  readonly id: string
  /** The address of the author, of the header `From`. */
  readonly from: string
  /** The name of the author, which anyone may choose; empty if there is none. */
  readonly name: string
  /** The address that it was delivered to. */
  readonly to: string
  /** The sender of the envelope, to which the platform returns what cannot be delivered. */
  readonly sender: string
  readonly subject: string
  /** The text; of a message that is HTML alone, the text in it. */
  readonly text: string
  /** The headers in their order; names are in lower case. */
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly attachments: readonly { readonly name: string; readonly mediaType: string; readonly bytes: number }[]
  /** The text, then each attachment after its name: the `content` of a user message. */
  readonly content: readonly UserContent[]
}

/** The message of the platform’s `email` handler, as far as it is used here. */
export interface IncomingEmail {
  /** The sender of the envelope. */
  readonly from: string
  readonly to: string
  readonly raw: ReadableStream<Uint8Array>
  readonly rawSize: number
  setReject(reason: string): void
}

/** Why a mail starts no run. `rejected`: its sender is told, by an SMTP error. `ignored`: nobody is. */
export interface EmailRefusal {
  readonly refusal: 'rejected' | 'ignored'
  readonly code: string
  readonly message: string
}

export interface EmailTrigger extends TriggerOptions<EmailEvent, StartedRun> {
  readonly on: 'email'
  /** Whether the trigger is for mail to an address, in lower case. */
  readonly isFor: (to: string) => boolean
  /** Reads a mail, and checks its sender. */
  readonly read: (message: IncomingEmail, raw: Uint8Array<ArrayBuffer>) => Promise<EmailEvent | EmailRefusal>
}

export interface CronTrigger extends TriggerOptions<CronEvent> {
  readonly on: 'cron'
  readonly cron: string
}

export interface QueueTrigger extends TriggerOptions<QueueEvent> {
  readonly on: 'queue'
  readonly queue: string
}

export interface WebhookTrigger extends TriggerOptions<WebhookEvent> {
  readonly on: 'webhook'
  readonly scheme: WebhookScheme
  /**
   * Answers the service, once the run is accepted or nothing is to be started (`run` is undefined then). Default: what the
   * scheme says; else 202 with the run, or 204.
   */
  readonly answer?: (event: WebhookEvent, run: WebhookRun | undefined, env: TriggerEnv) => Response | Promise<Response>
  /**
   * For how long the answer waits for the run to end or to wait, in milliseconds from when the request came; the run continues
   * afterwards. Services give up after some seconds. Default: 0, so the run has only been accepted.
   */
  readonly waitMs?: number
}

export type Trigger = CronTrigger | QueueTrigger | WebhookTrigger | EmailTrigger

/** Triggers by their names, which are part of the keys of their runs and of the paths of webhooks. */
export type Triggers = Readonly<Record<string, Trigger>>

/**
 * Starts a run at each time of a cron trigger of the platform: `cron` must be one of `[triggers] crons` in wrangler.toml.
 * Schedules (`PUT /schedules/{name}`) need no deployment.
 *
 * @example cronTrigger({ cron: '0 2 * * *', as: 'nightly', start: () => ({ run: { input: 'Tidy up.' } }) })
 */
export function cronTrigger(options: Omit<CronTrigger, 'on'>): Trigger {
  return { on: 'cron', ...options }
}

/**
 * Starts a run for each message of a queue that this Worker consumes. A message is acknowledged when its run is accepted,
 * or nothing is to be started, and else delivered again by the queue.
 *
 * @example queueTrigger({ queue: 'orders', as: 'orders', start: ({ body }) => ({ run: { input: JSON.stringify(body) } }) })
 */
export function queueTrigger(options: Omit<QueueTrigger, 'on'>): Trigger {
  return { on: 'queue', ...options }
}

/**
 * Starts a run for each request to `/triggers/{name}` that another service has signed. The answer is 202 with the run, or 204
 * if nothing is started, unless the scheme or the trigger has another.
 *
 * @example webhookTrigger({ scheme: githubWebhooks('GITHUB_SECRET'), as: 'github', start: () => ({ run: { input: 'Look at the news.' } }) })
 */
export function webhookTrigger(options: Omit<WebhookTrigger, 'on'>): Trigger {
  return { on: 'webhook', ...options }
}

/** The part of a queue's batch that is used here. */
interface QueueBatch {
  readonly queue: string
  readonly messages: readonly {
    readonly id: string
    readonly body: unknown
    readonly attempts: number
    ack(): void
    retry(options?: { readonly delaySeconds?: number }): void
  }[]
}

/** The handlers of a Worker that has triggers. */
export interface TriggerHandlers<Env> {
  scheduled(controller: CronEvent, env: Env, ctx: { waitUntil: WaitUntil }): Promise<void>
  queue(batch: QueueBatch, env: Env, ctx: { waitUntil: WaitUntil }): Promise<void>
  email(message: IncomingEmail, env: Env, ctx: { waitUntil: WaitUntil }): Promise<void>
}

/** The longest delay before a message is delivered again, in seconds. */
const MOST_DELAY = 3600

/** Makes the handlers of these triggers. */
export function triggerHandlers<Env extends object>(
  triggers: Triggers,
  makeSetup: MakeSetup<Env>,
): TriggerHandlers<Env> {
  const entries = Object.entries(triggers)
  return {
    scheduled: async ({ cron, scheduledTime }, env, ctx) => {
      const setup = setupOf(makeSetup, env)
      const own = entries.filter(
        (entry): entry is [string, CronTrigger] => entry[1].on === 'cron' && entry[1].cron === cron,
      )
      const outcomes = await Promise.all(
        own.map(([name, trigger]) => {
          const event = { id: new Date(scheduledTime).toISOString(), value: { cron, scheduledTime } }
          return startRun(setup, { name, trigger, event, env }, ctx)
        }),
      )
      const fault = outcomes.find((outcome): outcome is StartFault => outcome?.ok === false)
      // The platform shows it among the past events.
      if (fault) throw new Error(`${fault.code}: ${fault.message}`)
    },
    queue: async ({ queue, messages }, env, ctx) => {
      const setup = setupOf(makeSetup, env)
      const entry = entries.find(
        (each): each is [string, QueueTrigger] => each[1].on === 'queue' && each[1].queue === queue,
      )
      if (!entry) throw new Error(`No trigger is for the queue "${queue}".`)
      const [name, trigger] = entry
      const handle = async (message: QueueBatch['messages'][number]) => {
        const { id, body, attempts } = message
        const outcome = await startRun(setup, { name, trigger, event: { id, value: { id, body, attempts } }, env }, ctx)
        if (!outcome || outcome.ok) return message.ack()
        const delaySeconds = Math.min(MOST_DELAY, Math.ceil((outcome.retryAfterMs ?? 0) / 1000))
        message.retry(delaySeconds > 0 ? { delaySeconds } : undefined)
      }
      await Promise.all(messages.map(handle))
    },
    email: async (message, env, ctx) => {
      const setup = setupOf(makeSetup, env)
      const to = message.to.toLowerCase()
      const entry = entries.find((each): each is [string, EmailTrigger] => each[1].on === 'email' && each[1].isFor(to))
      if (!entry) return message.setReject('There is no such address.')
      const [name, trigger] = entry
      const value = await readEmail(trigger, message, setup.config.maxBodyBytes)
      if ('refusal' in value) {
        const { refusal, code, message: detail } = value
        setup.report({ event: 'trigger.not_started', source: `triggers/${name}`, because: 'forbidden', code, detail })
        return refusal === 'rejected' ? message.setReject(detail) : undefined
      }
      // Anyone may send the id of another message, but not as its author.
      const event = { id: `${value.from} ${value.id}`, value }
      const outcome = await startRun(setup, { name, trigger, event, env }, ctx)
      if (!outcome || outcome.ok) return undefined
      if (outcome.because === 'later') throw new Error(`${outcome.code}: ${outcome.message}`)
      return message.setReject('The message cannot be accepted.')
    },
  }
}

async function readEmail(
  { read }: EmailTrigger,
  message: IncomingEmail,
  most: number,
): Promise<EmailEvent | EmailRefusal> {
  const code = 'body_too_large'
  const tooLarge: EmailRefusal = { refusal: 'rejected', code, message: `The message is larger than ${most} bytes.` }
  if (message.rawSize > most) return tooLarge
  const { bytes, isComplete } = await readBody({ body: message.raw }, most)
  return isComplete ? read(message, bytes) : tooLarge
}

/** Who sends an event may have written anything, also where a signature shows who that is. */
const DEFAULT_MARKS: Readonly<Record<Trigger['on'], readonly DataMark[]>> = {
  cron: [],
  queue: ['untrusted'],
  webhook: ['untrusted'],
  email: ['untrusted'],
}

/** An event of a trigger. */
export interface TriggerCall<Event> {
  readonly name: string
  readonly trigger: TriggerOptions<Event, StartedRun> & Pick<Trigger, 'on'>
  readonly event: { readonly id: string; readonly value: Event }
  readonly env: object
}

/** Starts the run of an event; undefined if it starts none. Never rejects. */
export async function startRun<Event>(
  setup: Setup,
  { name, trigger, event, env }: TriggerCall<Event>,
  ctx: { waitUntil: WaitUntil },
): Promise<StartOutcome | undefined> {
  // The platform's method works on its context alone.
  const ports = { waitUntil: (work: Promise<unknown>) => ctx.waitUntil(work) }
  const source = `triggers/${name}`
  try {
    const caller = await callerByKeyId(setup, trigger.as)
    if (!caller) {
      const message = `There is no API key with the id "${trigger.as}".`
      return report(setup, source, { ok: false, because: 'forbidden', code: 'run_not_allowed', message, status: 403 })
    }
    const start = await trigger.start(event.value, { ...env })
    if (!start) return undefined
    const { run: body, marks = DEFAULT_MARKS[trigger.on], ...place } = start
    const key = await keyOfId(event.id)
    const run = { source, key, caller, scopes: trigger.scopes, body, marks, ...place, create: true }
    return report(setup, source, await startTriggeredRun(setup, run, ports))
  } catch (error) {
    setup.report({ event: 'trigger.failed', source, detail: textOfThrown(error) })
    return { ok: false, because: 'later', code: 'internal_error', message: 'The trigger failed.', status: 500 }
  }
}

function report(setup: Setup, source: string, outcome: StartOutcome): StartOutcome {
  if (!outcome.ok) {
    const { because, code, message } = outcome
    setup.report({ event: 'trigger.not_started', source, because, code, detail: message })
  }
  return outcome
}

/** Returns the caller that a key is, of `API_KEYS` or stored; with `AUTH=open`, the one caller that there is. */
export async function callerByKeyId({ config, storedKeys }: Setup, id: string): Promise<Caller | undefined> {
  if (config.auth === 'open') return { tenant: 'local', scopes: SCOPES }
  const key = config.apiKeys.findLast((each) => each.id === id) ?? (await storedKeys?.load(id))
  return key && { tenant: key.tenant, key: key.id, scopes: key.scopes }
}

/** Returns an id as the key of a run: others than printable ASCII, and long ones, by their hash. */
async function keyOfId(id: string): Promise<string> {
  return /^[\x21-\x7e]{1,200}$/.test(id) ? id : sha256(id)
}
