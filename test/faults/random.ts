import { setTimeout as sleep } from 'node:timers/promises'
import { isTerminal } from '../../src/contract/run.ts'
import { type Case, examine, startRun, untilRecord } from './case.ts'
import type { Chance } from './chance.ts'
import { conversation } from './client.ts'
import { Follower } from './follower.ts'
import { CLASSES, type Point, type Script } from './script.ts'
import { insist, PATIENCE_MS, SPREAD_MS, until, WATCHDOG_MS, type World } from './world.ts'

/** Milliseconds over which the runs of a round are posted. */
const POSTING_MS = 2000
/** Milliseconds for which a run is held up at a point at the most. */
const MOST_PAUSE_MS = 400
/** Milliseconds for a call: its deadline is over when the alarm comes, or is not. */
/** Longer than a Worker takes to start and answer on a busy machine: what times out otherwise tells of the machine. */
const CALL_MS = [6000, WATCHDOG_MS + 2000] as const
/** How long a dead edge's runs are left alone: the alarm comes, the longest fence is over, and a little more. */
const LEFT_ALONE_MS = CALL_MS[1] + SPREAD_MS + 3000

/** When the edge dies, in milliseconds since the round began, and where it starts again. */
interface Kill {
  readonly atMs: number
  readonly start: 'the same port' | 'another port'
}

interface Plan {
  readonly conversation: string
  readonly postAfterMs: number
  readonly isWatched: boolean
  readonly callMs: number
  readonly scripts: readonly Script[]
}

export interface RoundEnd {
  readonly faults: readonly string[]
  /** What came about and how often, so that it shows what was tested. */
  readonly tally: readonly string[]
}

/** Draws a round: its runs, and its kills. Every other one kills the edge when the alarms come. */
export function drawRound(chance: Chance, { round, runs }: { round: number; runs: number }): Round {
  const plans: Plan[] = []
  while (plans.flatMap((plan) => plan.scripts).length < runs) {
    const id = `r${round}-c${plans.length}`
    const most = Math.min(2, runs - plans.flatMap((plan) => plan.scripts).length)
    let run = 0
    plans.push({
      conversation: id,
      postAfterMs: chance.between(0, POSTING_MS),
      isWatched: chance.isHit(0.5),
      callMs: chance.pick(CALL_MS),
      scripts: chance.list(1, most, () => drawScript(chance, `${id}-${run++}`)),
    })
  }
  const ports = ['the same port', 'another port'] as const
  const kills = drawTimes(chance, round).map((atMs) => ({ atMs, start: chance.pick(ports) }))
  return { plans, kills }
}

/** The first while runs are on their way; the others while the edge starts, and around the alarms. */
function drawTimes(chance: Chance, round: number): number[] {
  const first = chance.between(200, 3500)
  const starting = first + chance.between(300, 3000)
  if (round % 2 === 0) return [first, starting]
  const alarm = WATCHDOG_MS + chance.between(0, SPREAD_MS + 4000)
  return [first, alarm, alarm + chance.between(300, 3000)]
}

export interface Round {
  readonly plans: readonly Plan[]
  readonly kills: readonly Kill[]
}

function drawScript(chance: Chance, token: string): Script {
  const rounds = chance.list(1, 3, () => chance.list(1, 3, () => chance.pick(CLASSES)))
  const pauses = new Map<string, number>()
  for (let round = 1; round <= rounds.length + 1; round++) {
    for (const at of ['asked', 'speaking', 'ending', 'called', 'effect', 'status']) {
      if (chance.isHit(0.5)) pauses.set(`${at} ${round}`, chance.between(1, MOST_PAUSE_MS))
    }
  }
  return { token, rounds, pause: (point: Point) => sleep(pauses.get(point) ?? 0) }
}

export function describeRound({ plans, kills }: Round): string {
  const runs = plans.flatMap((plan) => plan.scripts).length
  const times = kills.map(({ atMs, start }) => `${atMs} ms (again on ${start})`)
  return `${runs} runs in ${plans.length} conversations, killed at ${times.join(' and ')}`
}

/** Plays a round on a running edge, and waits until all its runs have ended. */
export async function playRound(world: World, { plans, kills }: Round): Promise<RoundEnd> {
  const began = Date.now()
  const posting = plans.map((plan) => postAll(world, plan))
  let starting = Promise.resolve()
  for (const { atMs, start } of kills) {
    await sleep(began + atMs - Date.now())
    await world.kill()
    await starting
    starting = world.start(start)
  }
  const diedAt = Date.now()
  await starting
  const posted = await Promise.all(posting)
  // Nobody asks for anything until every run must have gone on by itself.
  await sleep(diedAt + LEFT_ALONE_MS - Date.now())
  const ends = await Promise.all(plans.map((plan, index) => endOf(world, plan, posted[index] ?? [])))
  const tally = Map.groupBy(
    ends.flatMap((end) => end.words),
    (word) => word,
  )
  return {
    faults: ends.flatMap((end) => end.faults),
    tally: [...tally].map(([word, all]) => `${word} × ${all.length}`).sort(),
  }
}

/** Posts the runs of a conversation one after the other, each again with the same key until the edge answers. */
async function postAll(
  world: World,
  { conversation: id, postAfterMs, isWatched, callMs, scripts }: Plan,
): Promise<Case[]> {
  await sleep(postAfterMs)
  await insist(world, (url) => conversation(url, id).make())
  const cases: Case[] = []
  for (const script of scripts) {
    world.add(script)
    const run = await insist(world, (url) => startRun(url, id, script, { limits: { callMs } }))
    const follower = new Follower(id, run)
    if (isWatched) void follower.follow(world.url)
    cases.push({ script, conversation: id, run, ...(isWatched && { follower }) })
  }
  return cases
}

/** Looks at the runs of a conversation once they have ended. */
async function endOf(world: World, plan: Plan, cases: readonly Case[]): Promise<{ words: string[]; faults: string[] }> {
  const hasGoneOn = plan.scripts.some(({ token }) => world.hasAsked(token))
  const listing = await conversation(world.url() ?? '', plan.conversation).runs()
  const faults: string[] = []
  if (!plan.isWatched && !hasGoneOn && !listing.every(({ status }) => isTerminal(status))) {
    faults.push(`${plan.conversation}: nothing went on by itself`)
  }
  const [caseIds, matches] = [cases.map(({ run }) => run).join(), listing.map(({ id }) => id).join()]
  if (caseIds !== matches) faults.push(`${plan.conversation}: ${caseIds} were accepted, and ${matches} are listed`)
  const words: string[] = []
  for (const each of cases) {
    const { token } = each.script
    const hasEnded = await untilRecord(world, each, ({ finish }) => finish !== undefined)
    if (!hasEnded || !(await until(() => each.follower?.hasSeenEnd ?? true, PATIENCE_MS))) {
      faults.push(`${token}: the run has no end`)
      continue
    }
    const { calls, evidence, faults: found } = await examine(world, each, 3)
    faults.push(...found)
    if (each.follower?.early) faults.push(`${token}: a stream ended before its run`)
    words.push(...calls.map(({ tool, deliveryCount, outcome }) => `${tool} ${deliveryCount} ${outcome}`))
    words.push(...evidence.replay.map(({ type }) => type).filter((type) => /restarted|interrupted/.test(type)))
  }
  return { words, faults }
}
