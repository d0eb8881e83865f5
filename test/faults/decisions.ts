import { setTimeout as sleep } from 'node:timers/promises'
import type { RunStatus } from '../../src/contract/run.ts'
import { type Case, examine, gather, startRun, untilRecord } from './case.ts'
import { conversation, post } from './client.ts'
import { cutShortFaults } from './judge.ts'
import type { Point, ToolName } from './script.ts'
import { PATIENCE_MS, until, WATCHDOG_MS, type World } from './world.ts'

/**
 * Runs that people decide about, over one kill: one was approved after its object had been asleep, one waits for
 * approval still, and one is cancelled as soon as the edge is back, while its call must not be sent again yet.
 */
export async function playDecisions(world: World): Promise<string[]> {
  const approved = await begin(world, 'approved', 'called 1')
  const undecided = await begin(world, 'approved')
  const cancelled = await begin(world, 'idempotent', 'effect 1')
  await until(() => world.effects.some((effect) => effect.runId === cancelled.run), PATIENCE_MS)
  await untilStatus(world, approved, 'waiting')
  await untilStatus(world, undecided, 'waiting')
  // Whatever alarm the request had set has come by now.
  await sleep(WATCHDOG_MS + 1000)
  await approve(world, approved)
  await until(() => approved.held(), PATIENCE_MS)
  await world.kill()
  approved.letGo()
  cancelled.letGo()
  await world.start()
  const ends = [afterCancel(world, cancelled), afterWait(world, undecided), afterApproval(world, approved)]
  return (await Promise.all(ends)).flat()
}

interface Held extends Case {
  /** Whether it has come to where it is held. */
  readonly held: () => boolean
  readonly letGo: () => void
}

/** Starts a run that calls one tool and is held at a point of it. */
async function begin(world: World, tool: ToolName, at?: Point): Promise<Held> {
  const token = `${tool}-${at ? `held-${at.replace(' ', '-')}` : 'open'}`
  const hold = Promise.withResolvers<void>()
  let came = false
  const pause = async (point: Point) => {
    if (point !== at) return
    came = true
    await hold.promise
  }
  const script = { token, rounds: [[tool]], pause }
  world.add(script)
  await conversation(world.url() ?? '', `of-${token}`).make()
  const run = await startRun(world.url() ?? '', `of-${token}`, script, { limits: { callMs: WATCHDOG_MS * 2 } })
  return { script, conversation: `of-${token}`, run, held: () => came, letGo: hold.resolve }
}

async function afterApproval(world: World, approved: Case): Promise<string[]> {
  const { token } = approved.script
  if (!(await until(() => world.hasAsked(token), PATIENCE_MS)))
    return [`${token}: the approved run did not go on by itself`]
  await untilStatus(world, approved, 'completed')
  const { calls, faults } = await examine(world, approved)
  const [call] = calls
  return call?.sent === 0 && call.told === 'unknown' ? [...faults] : [...faults, `${token}: ${JSON.stringify(call)}`]
}

async function afterWait(world: World, undecided: Case): Promise<string[]> {
  const { token } = undecided.script
  if (!(await untilStatus(world, undecided, 'waiting'))) return [`${token}: the run waits no more`]
  await approve(world, undecided)
  if (!(await untilStatus(world, undecided, 'completed'))) return [`${token}: the approved run does not end`]
  const { calls, faults } = await examine(world, undecided)
  const [call] = calls
  return call?.sent === 1 && call.told === 'effect' ? [...faults] : [...faults, `${token}: ${JSON.stringify(call)}`]
}

async function afterCancel(world: World, cancelled: Case): Promise<string[]> {
  const { script, conversation: id, run } = cancelled
  const faults: string[] = []
  const { body } = await post(`${world.url()}/conversations/${id}/runs/${run}/cancel`, {})
  const { status } = await conversation(world.url() ?? '', id).run(run)
  if ((body as { status?: unknown }).status !== 'cancelled' || status !== 'cancelled') {
    faults.push(`a cancel of a run that recovers answered ${JSON.stringify(body)} and left it ${status}`)
  }
  if (!(await untilStatus(world, cancelled, 'cancelled'))) return [...faults, `${script.token}: the run has no end`]
  const evidence = await gather(world, cancelled)
  const sent = world.effects.filter((effect) => effect.runId === run).length
  if (sent !== 1) faults.push(`the call of a cancelled run was sent ${sent} times`)
  return [...faults, ...cutShortFaults(evidence, 'cancelled')].map((fault) => `${script.token}: ${fault}`)
}

async function approve(world: World, { conversation: id, run }: Case): Promise<void> {
  const [call] = (await conversation(world.url() ?? '', id).run(run)).calls
  await post(`${world.url()}/conversations/${id}/runs/${run}/calls/${call?.id}`, { decision: 'approve' })
}

async function untilStatus(world: World, waiting: Case, status: RunStatus): Promise<boolean> {
  return untilRecord(world, waiting, (record) => record.status === status)
}
