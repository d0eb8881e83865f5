import { createHmac } from 'node:crypto'
import { gather } from '../case.ts'
import { conversation, post } from '../client.ts'
import { DELIVERIES } from '../kinds-edge/deliveries.ts'
import { inputOf } from '../script.ts'
import type { World } from '../world.ts'
import {
  addScript,
  callWords,
  endFaults,
  type Ending,
  type Kind,
  otherRunFaults,
  runFaults,
  send,
  type Stage,
  tokensOf,
  usageFaults,
  watch,
} from './kind.ts'

/** The secret of the service that sends webhooks, in the variable `HOOK_SECRET` of the edge. */
export const HOOK_SECRET = 'a secret of the service'

/** Delivers an event that says `text` to the edge at `url`, and rejects unless it was accepted. */
type Deliver = (
  url: string,
  text: string,
  token: string,
) => Promise<{ readonly run: string; readonly conversation: string }>

/** Runs that events start. An event is delivered until it was accepted. */
export const triggered: readonly Kind[] = [
  { name: 'triggered by a queue', play: (stage) => play(stage, deliverMessage) },
  { name: 'triggered by mail', play: (stage) => play(stage, deliverMail) },
  { name: 'triggered by a webhook', play: (stage) => play(stage, deliverRequest) },
]

async function play(stage: Stage, deliver: Deliver): Promise<Ending> {
  const { token } = stage
  const script = addScript(stage, { token, rounds: [['plain', 'idempotent'], ['tellsOutcome']] })
  const place = await send(stage, 'the event', (url) => deliver(url, inputOf(token), token))
  return endOf(stage, { script, ...place })
}

/** Waits for the end of a run of a script that was started by something else than a request, and judges it. */
export async function endOf(stage: Stage, started: Omit<Parameters<typeof gather>[1], 'follower'>): Promise<Ending> {
  const { world, token } = stage
  const each = { ...started, ...watch(stage, started.conversation, started.run) }
  const faults = await endFaults(world, each)
  if (faults.length > 0) return { faults, calls: [], tokens: 0 }
  const evidence = await gather(world, each)
  const tokens = tokensOf(evidence)
  const allFaults = [
    ...runFaults(evidence),
    ...(await otherRunFaults(world, each)),
    ...usageFaults(evidence.record, tokens),
    ...effectFaults(world, token),
  ]
  return { faults: allFaults.map((fault) => `${token}: ${fault}`), calls: callWords(evidence), tokens }
}

/** The effects of a token are those of one run, wherever a second one might be stored. */
function effectFaults(world: World, token: string): string[] {
  const runs = new Set(world.effects.flatMap(({ what, runId }) => (what.startsWith(`${token}/`) ? [runId] : [])))
  return runs.size > 1 ? [`${runs.size} runs had its effects`] : []
}

async function deliverMessage(url: string, text: string, token: string) {
  const { body } = await post(`${url}${DELIVERIES}`, { id: token, body: text })
  if ((body as { outcome?: unknown }).outcome !== 'ack') throw new Error(`${token}: ${JSON.stringify(body)}`)
  return onlyRun(url, `of-${token}`)
}

/** By the route of `wrangler dev` for mail. */
async function deliverMail(url: string, text: string, token: string) {
  const [from, to] = [`${token}@example.com`, 'desk@example.com']
  const mail = [
    'Authentication-Results: mx.cloudflare.net; dmarc=pass header.from=example.com',
    `Message-ID: <${token}@example.com>`,
    `From: ${from}`,
    `To: ${to}`,
    'Subject: A case',
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
  ].join('\r\n')
  const query = new URLSearchParams({ from, to, format: 'json' })
  const response = await fetch(`${url}/cdn-cgi/handler/email?${query.toString()}`, { method: 'POST', body: mail })
  const answer = await response.text()
  if (!response.ok || answer.includes('rejectReason')) throw new Error(`${token}: ${response.status} ${answer}`)
  return onlyRun(url, `of-${token}`)
}

async function deliverRequest(url: string, text: string, token: string) {
  const signature = `sha256=${createHmac('sha256', HOOK_SECRET).update(text).digest('hex')}`
  const headers = { 'x-hub-signature-256': signature }
  const response = await fetch(`${url}/triggers/hook`, { method: 'POST', body: text, headers })
  const answer = await response.text()
  if (response.status !== 202) throw new Error(`${token}: ${response.status} ${answer}`)
  return JSON.parse(answer) as { readonly run: string; readonly conversation: string }
}

async function onlyRun(url: string, id: string) {
  const [run] = await conversation(url, id).runs()
  if (!run) throw new Error(`${id}: the event was accepted, and has started no run`)
  return { run: run.id, conversation: id }
}
