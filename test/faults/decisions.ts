import { setTimeout as sleep } from 'node:timers/promises'
import type { RunStatus } from '../../src/contract/run.ts'
import { type Case, examine, gather, startRun, untilRecord } from './case.ts'
import { conversation, post } from './client.ts'
import { Follower } from './follower.ts'
import { cutShortFaults } from './judge.ts'
import type { Point, Script, ToolName } from './script.ts'
import { PATIENCE_MS, until, WATCHDOG_MS, type World } from './world.ts'

/**
 * Runs that people meddle with, over one kill: one was approved after its object had been asleep, one waits for
 * approval still; of two whose call must not be sent again yet, one is cancelled and one is followed and written to.
 */
export async function playDecisions(world: World): Promise<string[]> {
  const approved = await begin(world, 'approved', { tool: 'approved', at: 'called 1' })
  const undecided = await begin(world, 'undecided', { tool: 'approved' })
  const cancelled = await begin(world, 'cancelled', { tool: 'idempotent', at: 'effect 1' })
  const followed = await begin(world, 'followed', { tool: 'idempotent', at: 'effect 1' })
  await untilStatus(world, approved, 'waiting')
  await untilStatus(world, undecided, 'waiting')
  // Whatever alarm their requests had set has come by now.
  await sleep(WATCHDOG_MS + 1000)
  await approve(world, approved)
  const cases = [approved, cancelled, followed]
  await until(() => cases.every((run) => run.isHeld()), PATIENCE_MS)
  await world.kill()
  for (const run of cases) run.letGo()
  await world.start()
  const ends = await Promise.all([
    afterCancel(world, cancelled),
    afterMessage(world, followed),
    afterWait(world, undecided),
    afterApproval(world, approved),
  ])
  return ends.flat()
}

interface HeldCase extends Case {
  /** Whether it has come to where it is held. */
  readonly isHeld: () => boolean
  readonly letGo: () => void
}

/** Starts a run that calls one tool and is held at a point of it. */
async function begin(world: World, token: string, { tool, at }: { tool: ToolName; at?: Point }): Promise<HeldCase> {
  const id = `of-${token}`
  const hold = Promise.withResolvers<void>()
  let isHeld = false
  const pause = async (point: Point) => {
    if (point !== at) return
    isHeld = true
    await hold.promise
  }
  const script = { token, rounds: [[tool]], pause }
  world.add(script)
  await conversation(world.url() ?? '', id).make()
  const run = await startRun(world.url() ?? '', id, script, { limits: { callMs: 2 * WATCHDOG_MS } })
  return { script, conversation: id, run, isHeld: () => isHeld, letGo: hold.resolve }
}

async function afterApproval(world: World, approved: Case): Promise<string[]> {
  const { token } = approved.script
  if (!(await until(() => world.hasAsked(token), PATIENCE_MS)))
    return [`${token}: the approved run did not go on by itself`]
  await untilStatus(world, approved, 'completed')
  const { calls, faults } = await examine(world, approved)
  const [call] = calls
  return call?.deliveryCount === 0 && call.outcome === 'unknown'
    ? [...faults]
    : [...faults, `${token}: ${JSON.stringify(call)}`]
}

async function afterWait(world: World, undecided: Case): Promise<string[]> {
  const { token } = undecided.script
  if (!(await untilStatus(world, undecided, 'waiting'))) return [`${token}: the run waits no more`]
  await approve(world, undecided)
  if (!(await untilStatus(world, undecided, 'completed'))) return [`${token}: the approved run does not end`]
  const { calls, faults } = await examine(world, undecided)
  const [call] = calls
  return call?.deliveryCount === 1 && call.outcome === 'effect'
    ? [...faults]
    : [...faults, `${token}: ${JSON.stringify(call)}`]
}

/** A message that comes while another run recovers is no reason to end that run's streams. */
async function afterMessage(world: World, followed: Case): Promise<string[]> {
  const { script, conversation: id, run } = followed
  const follower = new Follower(id, run)
  void follower.follow(world.url)
  await until(() => follower.frames.length > 0, PATIENCE_MS)
  const next: Script = { token: 'next', rounds: [] }
  world.add(next)
  await startRun(world.url() ?? '', id, next)
  if (!(await until(() => follower.hasSeenEnd, PATIENCE_MS))) return [`${script.token}: the run has no end`]
  const { faults } = await examine(world, { ...followed, follower })
  return follower.early === 0 ? [...faults] : [...faults, `${script.token}: a stream ended before its run`]
}

async function afterCancel(world: World, cancelled: Case): Promise<string[]> {
  const { script, conversation: id, run } = cancelled
  const faults: string[] = []
  const { body } = await post(`${world.url()}/conversations/${id}/runs/${run}/cancel`, {})
  const answeredAt = Date.now()
  const { status } = await conversation(world.url() ?? '', id).run(run)
  if ((body as { status?: unknown }).status !== 'cancelled' || status !== 'cancelled') {
    faults.push(`the cancel answered ${JSON.stringify(body)} and left the run ${status}`)
  }
  if (!(await untilStatus(world, cancelled, 'cancelled'))) return [...faults, `${script.token}: the run has no end`]
  const evidence = await gather(world, cancelled)
  // A call that timed out before may have been sent again.
  const effects = world.effects.filter((effect) => effect.runId === run && effect.at > answeredAt).length
  if (effects > 0) faults.push(`the call of a cancelled run was sent ${effects} times after that`)
  return [...faults, ...cutShortFaults(evidence, 'cancelled')].map((fault) => `${script.token}: ${fault}`)
}

async function approve(world: World, { conversation: id, run }: Case): Promise<void> {
  const [call] = (await conversation(world.url() ?? '', id).run(run)).calls
  await post(`${world.url()}/conversations/${id}/runs/${run}/calls/${call?.id}`, { decision: 'approve' })
}

async function untilStatus(world: World, waiting: Case, status: RunStatus): Promise<boolean> {
  return untilRecord(world, waiting, (record) => record.status === status)
}
