import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, parseJson } from '../contract/json.ts'
import { AT_EDGE, type Command, command } from './command/command.ts'
import { remote } from './command/remote.ts'
import { type EdgeAddress, refusal, send } from './edge.ts'
import { Failure } from './failure.ts'
import { readTextFile } from './text-file.ts'

/** A trigger as an open edge lists it. */
interface ListedTrigger {
  readonly name: string
  readonly on: string
  readonly cron?: string
}

const FAILED = 'The output of `edgecall dev` says why.'

/** What a trigger is tried with. */
interface Trial {
  readonly root: string
  readonly edge: EdgeAddress
  readonly trigger: ListedTrigger
  /** The payload, or that of the file that it names. */
  readonly payload: string
  readonly from: string
  readonly to: string
  readonly signal: AbortSignal
}

/** The command that tries a trigger at an edge on this machine. */
export const TRIGGER_TRY_COMMAND: Command = command({
  name: 'trigger',
  summary: 'try a trigger of the edge on this machine: send it an event, and print the run that it starts',
  arguments: {
    name: { text: 'the name of the trigger' },
    payload: {
      text: 'the body of the message or request, the text or the whole of a mail, or a file with it; for cron: a time',
      optional: true,
    },
  },
  options: {
    ...AT_EDGE,
    from: { type: 'string', value: 'address', text: 'the author of the mail; default: ann@example.com' },
    to: { type: 'string', value: 'address', text: 'where the mail is delivered; default: desk@example.com' },
  },
  notes: [
    'The edge must run in another terminal, by `edgecall dev`. Nothing is signed: such an edge answers on this machine alone. A mail that is given as a text gets the header of a sender who was authenticated.',
  ],
  run: async (invocation) => {
    const { edge, terminal, signal } = await remote(invocation, invocation.options.url)
    const { name, payload = '' } = invocation.arguments
    const { from = 'ann@example.com', to = 'desk@example.com' } = invocation.options
    const trigger = await findTrigger(edge, name, signal)
    const { root } = invocation
    const outcome = await tryTrigger({ root, edge, trigger, payload: readPayload(root, payload), from, to, signal })
    terminal.emit({ name, on: trigger.on, ...outcome })
    terminal.print(`${outcome.text}\n`)
  },
})

async function findTrigger(edge: EdgeAddress, name: string, signal: AbortSignal): Promise<ListedTrigger> {
  const response = await send(edge, { method: 'GET', path: '/triggers' }, signal)
  if (response.status === 404) {
    throw new Failure(
      `${edge.url} does not let triggers be tried.`,
      'Only an edge on your machine does, with AUTH=open and the part `triggers`, as `edgecall dev` runs it.',
    )
  }
  if (!response.ok) throw await refusal('The triggers cannot be listed', response)
  const list: unknown = await response.json()
  const triggers = (Array.isArray(list) ? list : []).filter(isTrigger)
  const trigger = triggers.find((each) => each.name === name)
  if (trigger) return trigger
  const names = triggers.map((each) => each.name).join(', ')
  throw new Failure(`There is no trigger "${name}".`, names === '' ? 'The edge has none.' : `The edge has: ${names}.`)
}

function isTrigger(value: unknown): value is ListedTrigger {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['on'] === 'string'
}

function readPayload(root: string, payload: string): string {
  const path = join(root, payload)
  return /^[\w./-]+$/.test(payload) && payload !== '' && existsSync(path) ? readTextFile(path) : payload
}

type Outcome = Readonly<Record<string, unknown>> & { readonly text: string }

async function tryTrigger(trial: Trial): Promise<Outcome> {
  switch (trial.trigger.on) {
    case 'cron':
      return tryCron(trial)
    case 'email':
      return tryEmail(trial)
    default:
      return tryEvent(trial)
  }
}

/** Sends an event to a trigger of a queue, or of webhooks. */
async function tryEvent({ edge, trigger: { name }, payload, signal }: Trial): Promise<Outcome> {
  const bytes = Uint8Array.from(Buffer.from(payload))
  const path = `/triggers/${encodeURIComponent(name)}/try`
  const response = await send(edge, { method: 'POST', path, bytes }, signal)
  if (response.status === 204) return { text: 'Nothing is to be started.' }
  if (!response.ok) throw await refusal(name, response)
  const body: unknown = await response.json()
  const { run, conversation } = isObject(body) ? body : {}
  return { run, conversation, text: `${String(run)} in ${String(conversation)}` }
}

/** Lets a time of a cron trigger come, by the route of `wrangler dev` for that. */
async function tryCron({ edge, trigger: { name, cron = '' }, payload, signal }: Trial): Promise<Outcome> {
  const time = payload === '' ? Date.now() : Date.parse(payload)
  if (Number.isNaN(time)) throw new Failure(`"${payload}" is not a time.`, 'Give one such as 2026-02-28T02:00:00Z.')
  const query = new URLSearchParams({ cron, time: String(time) })
  const response = await send(edge, { method: 'GET', path: `/cdn-cgi/handler/scheduled?${query.toString()}` }, signal)
  const answer = await response.text()
  if (response.ok) return { text: `${name} has handled ${new Date(time).toISOString()}.` }
  throw new Failure(`${name} has failed: ${answer}.`, FAILED)
}

/** Delivers a mail, by the route of `wrangler dev` for that. */
async function tryEmail({ edge, trigger: { name }, payload, from, to, signal }: Trial): Promise<Outcome> {
  const query = new URLSearchParams({ from, to, format: 'json' })
  const mail = isMail(payload) ? payload : mailOf(payload, { from, to })
  const bytes = Uint8Array.from(Buffer.from(mail))
  const response = await send(
    edge,
    { method: 'POST', path: `/cdn-cgi/handler/email?${query.toString()}`, bytes },
    signal,
  )
  const answer = parseJson(await response.text())
  const reason = isObject(answer) ? answer['rejectReason'] : undefined
  if (typeof reason === 'string') throw new Failure(`The mail is rejected: ${reason}`)
  if (response.ok) return { text: `${name} has accepted the mail.` }
  throw new Failure(`${name} has failed.`, FAILED)
}

/** Whether a text is a whole mail, which begins with a header. */
function isMail(text: string): boolean {
  return /^[A-Za-z][\w-]*:[^\n]*\r?\n(?:[^\n]+\n)*?From:/im.test(text)
}

function mailOf(text: string, { from, to }: Pick<Trial, 'from' | 'to'>): string {
  const domain = from.slice(from.lastIndexOf('@') + 1)
  return [
    `Authentication-Results: mx.cloudflare.net; dmarc=pass header.from=${domain}`,
    `Message-ID: <${crypto.randomUUID()}@${domain}>`,
    `From: ${from}`,
    `To: ${to}`,
    'Subject: A trial',
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
  ].join('\r\n')
}
