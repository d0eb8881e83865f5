import { setTimeout as sleep } from 'node:timers/promises'
import { isTerminal, type RunRecord } from '../../../src/contract/run.ts'
import { type Case, untilRecord } from '../case.ts'
import type { Chance } from '../chance.ts'
import { conversation, get, post } from '../client.ts'
import { eventsOf, type Evidence } from '../evidence.ts'
import { Follower } from '../follower.ts'
import { streamFaults } from '../judge.ts'
import { callFaults } from '../judge-calls.ts'
import type { Script } from '../script.ts'
import { insist, PATIENCE_MS, until, type World } from '../world.ts'

/** How often a run is asked for, in milliseconds. */
const EVERY_MS = 500
/** How long a run may show no change, in milliseconds: its agents are at work, or it is parked and soon tried again. */
const STANDSTILL_MS = 5 * 60_000

/** A kind of run: how it starts, what people and other services do meanwhile, and how what is left of it is judged. */
export interface Kind {
  readonly name: string
  /**
   * Starts a run and resolves when it has ended, with what is left of it judged. The edge may be killed at any moment:
   * whoever got no answer sends the same request again.
   */
  readonly play: (stage: Stage) => Promise<Ending>
}

/** What a run is played on. */
export interface Stage {
  readonly world: World
  /** Tells the run from all others of the world. */
  readonly token: string
  /** Draws what runs of one kind may differ in. */
  readonly chance: Chance
  /** Whether a reader follows the run from its start. */
  readonly isWatched: boolean
  /** Something of the run comes to a point. Resolves when it may go on; `lost`: an answer that has just come is lost. */
  readonly pass: (point: string) => Promise<'lost' | undefined>
}

/** What a run came to. */
export interface Ending {
  readonly faults: readonly string[]
  /** What each call came to, so that it shows what was tested. */
  readonly calls: readonly string[]
  /** The tokens of all its models. */
  readonly tokens: number
}

/** Makes a script known whose points are those of a stage. `role`: tells it from other scripts of the same run. */
export function addScript({ world, pass }: Stage, script: Omit<Script, 'pause'>, role = ''): Script {
  const pause: Script['pause'] = (point, index) =>
    pass(`${role === '' ? '' : `${role}: `}${point}${index === undefined ? '' : `/${index}`}`)
  const playable = { ...script, pause }
  world.add(playable)
  return playable
}

/** How the points end at which a request is about to be sent, and was answered. */
export const IS_SENT = 'is sent'
export const IS_ANSWERED = 'is answered'

/** Sends what must take effect once however often it is sent, again if the answer is lost, and passes a point before and after. */
export async function send<Value>(
  { world, pass }: Stage,
  what: string,
  ask: (url: string) => Promise<Value>,
): Promise<Value> {
  await pass(`${what} ${IS_SENT}`)
  const answer = await insist(world, ask)
  return (await pass(`${what} ${IS_ANSWERED}`)) === 'lost' ? insist(world, ask) : answer
}

/** Lets a reader follow a run, on a stage that has one. */
export function watch({ world, isWatched }: Stage, id: string, run: string): { readonly follower?: Follower } {
  if (!isWatched) return {}
  const follower = new Follower(id, run)
  void follower.follow(world.url)
  return { follower }
}

/** Waits for the end of a run and of its stream. Returns a fault if there is none. */
export async function endFaults(world: World, each: Case): Promise<string[]> {
  const hasEnded = await untilRecord(world, each, ({ status }) => isTerminal(status), {
    patienceMs: STANDSTILL_MS,
    everyMs: EVERY_MS,
  })
  const { token } = each.script
  if (!hasEnded) return [`${token}: the run has no end`]
  if (await until(() => each.follower?.hasSeenEnd ?? true, PATIENCE_MS)) return []
  return [`${token}: its reader has seen no end`]
}

/** Approves whatever waits until the run has ended, each call once, and passes points before and after it. */
async function approveAll(
  stage: Stage,
  waiting: (url: string) => Promise<readonly WaitingCall[]>,
  isOver: () => boolean,
): Promise<void> {
  const numbers = new Map<string, number>()
  while (!isOver()) {
    for (const { conversation: id, run, call } of await insist(stage.world, waiting)) {
      if (!numbers.has(call)) numbers.set(call, numbers.size + 1)
      const path = `conversations/${id}/runs/${run}/calls/${call}`
      // An answer of another status is one to a call that was decided meanwhile, or that its run does not have yet.
      await send(stage, `approval ${numbers.get(call)}`, (url) => post(`${url}/${path}`, { decision: 'approve' }))
    }
    await sleep(EVERY_MS)
  }
}

/** Waits for the end of a run, while people approve whatever waits. Returns a fault if there is no end. */
export async function endWithApprovals(
  stage: Stage,
  each: Case,
  waiting: (url: string) => Promise<readonly WaitingCall[]>,
): Promise<string[]> {
  let isOver = false
  const people = approveAll(stage, waiting, () => isOver)
  const faults = await endFaults(stage.world, each)
  isOver = true
  await people
  return faults
}

/** A call that waits for a person, and where it is decided. */
export interface WaitingCall {
  readonly conversation: string
  readonly run: string
  readonly call: string
}

/** What is against the contract in what is left of a run that should have completed, whoever has started it. */
export function runFaults(evidence: Evidence): string[] {
  const { record, replay } = evidence
  const faults = [...streamFaults(evidence), ...callFaults(evidence), ...reductionFaults(evidence)]
  if (record.status !== 'completed') faults.push(`the run is ${record.status}: ${JSON.stringify(record.error)}`)
  const own = replay.filter(({ event }) => event.type === 'step.answered').length
  if (own !== evidence.script.rounds.length + 1) faults.push(`the run has ${own} answers`)
  return faults
}

/** A step's prompt is reduced once: it is the same when it is sent again. */
function reductionFaults({ replay }: Evidence): string[] {
  const steps = replay.flatMap(({ event }) => (event.type === 'context.reduced' ? [event.step] : []))
  return steps.filter((step, index) => steps.indexOf(step) !== index).map((step) => `step ${step} was reduced twice`)
}

/** The tokens of a run, as its journal has them: those of its answers, and of notes that a model has made. */
export function tokensOf({ replay }: Evidence): number {
  return replay.reduce((sum, { event }) => {
    if (event.type !== 'step.answered' && event.type !== 'context.reduced') return sum
    return sum + (event.usage?.inputTokens ?? 0) + (event.usage?.outputTokens ?? 0)
  }, 0)
}

/** What is against the contract in the usage of a run. `tokens`: those of its journal, and of the runs below it. */
export function usageFaults({ usage }: RunRecord, tokens: number): string[] {
  const counted = usage.inputTokens + usage.outputTokens
  return counted === tokens ? [] : [`its usage is ${counted} tokens, and the journals have ${tokens}`]
}

/** What each call of a run came to. */
export function callWords({ record, replay }: Evidence): string[] {
  return record.calls.map(({ id, tool, ok, error }) => {
    const isAgain = eventsOf(replay, id).filter(({ type }) => type === 'call.started').length > 1
    return `${tool} ${ok ? 'ok' : error?.code}${isAgain ? ', again' : ''}`
  })
}

/** The conversation of a run has no other one: whatever started it has started it once. */
export async function otherRunFaults(world: World, { conversation: id }: Case, count = 1): Promise<string[]> {
  const runs = await insist(world, (url) => conversation(url, id).runs())
  return runs.length === count ? [] : [`its conversation has ${runs.length} runs`]
}

/** Waits until the usage of the tenant is that of the journals, and returns a fault if it does not come to be. */
export async function tenantFaults(world: World, tokens: number): Promise<string[]> {
  const deadline = Date.now() + REPORTING_MS
  for (;;) {
    const { usage } = (await get(`${world.url()}/usage?by=key`)) as { usage: readonly Record<string, number>[] }
    const sum = usage.reduce((total, { inputTokens = 0, outputTokens = 0 }) => total + inputTokens + outputTokens, 0)
    if (sum === tokens) return []
    if (Date.now() > deadline || sum > tokens) return [`the usage is ${sum} tokens, and the journals have ${tokens}`]
    await sleep(1000)
  }
}

/** How long the directory may take to hear of the last runs, in milliseconds, after reports that were lost. */
const REPORTING_MS = 120_000
