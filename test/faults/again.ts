import { type Case, examine, startRun, untilRecord } from './case.ts'
import { conversation } from './client.ts'
import type { Point, Script, ToolName } from './script.ts'
import { PATIENCE_MS, until, type World } from './world.ts'

/** How often one run is lost. */
const MOST_LIVES = 10
/** How often a call that may be sent again is lost. */
const MOST_REPEATS = 3

/**
 * Runs that are lost in every life of the edge: a call that may be sent again is sent three times and no more, and a run
 * that makes progress in each of ten lives completes, with each of its ten lost calls told as unknown.
 */
export async function playAgain(world: World): Promise<string[]> {
  // Each life ends as soon as the call has had its effect, long before its time is up: then it would be sent again by the
  // same life, or fail as timed out.
  const repeated = await begin(world, {
    tools: ['idempotent'],
    callMs: 6000,
    holdAt: (life) => (life <= MOST_REPEATS ? 'effect 1' : undefined),
  })
  const repeatFaults = (await loseInLives(world, repeated, MOST_REPEATS)) ?? (await afterRepeats(world, repeated))
  const rounds = Array.from({ length: MOST_LIVES + 1 }, () => 'plain' as const)
  const lost = await begin(world, {
    tools: rounds,
    callMs: PATIENCE_MS,
    holdAt: (life) => (life <= MOST_LIVES ? `effect ${life}` : undefined),
  })
  return [...repeatFaults, ...((await loseInLives(world, lost, MOST_LIVES)) ?? (await afterLoss(world, lost)))]
}

/** Ends so many lives of the edge, each as soon as the run has had its effect in it. Returns what was not so. */
async function loseInLives(world: World, run: Case, lives: number): Promise<string[] | undefined> {
  for (let life = 1; life <= lives; life++) {
    if (!(await until(() => effectsOf(world, run) === life, PATIENCE_MS))) return stuck(world, life, run)
    await world.kill()
    await world.start()
  }
  return undefined
}

interface Losing {
  /** Round by round. */
  readonly tools: readonly ToolName[]
  readonly callMs: number
  /** Where the run waits for the end of a life, from 1. */
  readonly holdAt: (life: number) => Point | undefined
}

async function begin(world: World, { tools, callMs, holdAt }: Losing): Promise<Case> {
  const first = world.life() - 1
  const token = `again-${tools.length}`
  const pause = async (point: Point) => {
    // Nothing lets it go: the edge dies.
    if (point === holdAt(world.life() - first)) await new Promise(() => {})
  }
  const script: Script = { token, rounds: tools.map((tool) => [tool]), pause }
  world.add(script)
  await conversation(world.url() ?? '', token).make()
  const run = await startRun(world.url() ?? '', token, script, { limits: { callMs } })
  return { script, conversation: token, run }
}

function effectsOf(world: World, { run }: Case): number {
  return world.effects.filter((effect) => effect.runId === run).length
}

async function stuck(world: World, life: number, { conversation: id, run }: Case): Promise<string[]> {
  const record = await conversation(world.url() ?? '', id).run(run)
  return [`not lost in life ${life}: ${JSON.stringify(record)}`]
}

async function afterRepeats(world: World, repeated: Case): Promise<string[]> {
  const { token } = repeated.script
  if (!(await untilRecord(world, repeated, ({ status }) => status === 'completed')))
    return [`${token}: the run has no end`]
  const { calls, faults } = await examine(world, repeated)
  const [call] = calls
  return call?.deliveryCount === 3 && call.outcome === 'unknown'
    ? [...faults]
    : [...faults, `${token}: ${JSON.stringify(call)}`]
}

async function afterLoss(world: World, lost: Case): Promise<string[]> {
  const { token } = lost.script
  if (!(await untilRecord(world, lost, ({ status }) => status === 'completed'))) return [`${token}: the run has no end`]
  const { calls, faults } = await examine(world, lost)
  const unknown = calls.filter(({ deliveryCount, outcome }) => deliveryCount === 1 && outcome === 'unknown').length
  return unknown === MOST_LIVES
    ? [...faults]
    : [...faults, `${token}: ${unknown} calls are unknown: ${JSON.stringify(calls)}`]
}
