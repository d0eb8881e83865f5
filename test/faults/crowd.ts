import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type Case, examine, startRun } from './case.ts'
import { conversation } from './client.ts'
import { Follower } from './follower.ts'
import { CLASSES, type Script } from './script.ts'
import { type Ask, PATIENCE_MS, SPREAD_MS, until, WATCHDOG_MS, type World } from './world.ts'

/** How long the runs without a reader are left alone after their alarms, in milliseconds. */
const ALONE_MS = 5000

/**
 * Posts so many runs to one conversation at once: all are run, in the order of their acceptance, none twice. The edge is
 * killed as `killing` says.
 */
export async function playQueue(world: World, size: number, killing: Killing = {}): Promise<string[]> {
  const id = 'queue'
  await conversation(world.url() ?? '', id).make()
  const cases = await Promise.all(scriptsOf(world, id, size).map((script) => startCase(world, id, script)))
  await kill(world, killing)
  const faults = await endsOf(world, cases)
  const edge = conversation(world.url() ?? '', id)
  const order = (await edge.runs()).map((run) => run.id)
  const tokens = new Map(cases.map(({ run, script }) => [run, script.token]))
  const askedTokens = world.asks.filter(({ token }) => token.startsWith(`${id}-`)).map(({ token }) => token)
  const runs = (await edge.messages()).map((message) => message.run)
  if (tokens.size !== size || order.length !== size) faults.push(`${size} posts made ${order.length} runs`)
  if (
    !isDeepStrictEqual(
      firstsOf(askedTokens),
      order.map((run) => tokens.get(run)),
    )
  ) {
    faults.push(`the runs ran as ${firstsOf(askedTokens).join(', ')}`)
  }
  if (!isDeepStrictEqual(firstsOf(runs), order)) faults.push('the messages are not in the order of the runs')
  return faults
}

/** Runs so many conversations at once: none sees anything of another. */
export async function playMany(world: World, size: number): Promise<string[]> {
  return endsOf(world, await startMany(world, size))
}

/**
 * Deploys the next version of the edge while so many conversations are under way: the new code continues the journals
 * that the old has begun, and all runs end. Half of them have readers who come back, the others only their alarms.
 */
export async function playDeployment(world: World, size: number): Promise<string[]> {
  const cases = await startMany(world, size, (index) => index % 2 === 0)
  await until(() => world.asks.length >= size / 2, PATIENCE_MS)
  await world.kill()
  const killedAt = Date.now()
  world.deploy()
  await world.start()
  await sleep(killedAt + WATCHDOG_MS + SPREAD_MS + ALONE_MS - Date.now())
  const alone = cases.filter((_, index) => index % 2 === 1)
  for (const { follower } of alone) void follower?.follow(world.url)
  const faults = await endsOf(world, cases)

  const firstLife = Math.min(...world.asks.map(({ life }) => life))
  if (world.asks.some(({ life, isNext }) => isNext !== life > firstLife))
    faults.push('the wrong version asked the model')
  const continued = firstAsks(world, true).filter(({ token }) =>
    firstAsks(world, false).some((ask) => ask.token === token),
  )
  if (continued.length === 0) faults.push('no run was continued by the next version')
  const aloneTokens = new Set(alone.map(({ script }) => script.token))
  const times = continued.filter(({ token }) => aloneTokens.has(token)).map(({ at }) => at - killedAt)
  const seconds = [Math.min(...times), Math.max(...times)].map((ms) => (ms / 1000).toFixed(1)).join(' to ')
  console.log(`${continued.length} runs continued by the next version, ${times.length} by alarms after ${seconds} s`)
  return faults
}

/** The first question of each run to the model, by one version of the edge. */
function firstAsks(world: World, isNext: boolean): Ask[] {
  const asks = world.asks.filter((ask) => ask.isNext === isNext)
  return asks.filter(({ token }, index) => asks.findIndex((ask) => ask.token === token) === index)
}

async function startMany(
  world: World,
  size: number,
  hasReader: (index: number) => boolean = () => true,
): Promise<Case[]> {
  return Promise.all(
    scriptsOf(world, 'many', size).map(async (script, index) => {
      await conversation(world.url() ?? '', `of-${script.token}`).make()
      return startCase(world, `of-${script.token}`, script, hasReader(index))
    }),
  )
}

/** When the edge is killed and started again. Default: never. */
interface Killing {
  /** How many questions its model has been asked by then. */
  readonly killAfter?: number
  /** How often, each further time as soon as its model is asked one more question: while runs recover. Default: once. */
  readonly times?: number
}

async function kill(world: World, { killAfter, times = 1 }: Killing): Promise<void> {
  if (killAfter === undefined) return
  for (let time = 0; time < times; time++) {
    const asks = time === 0 ? killAfter : world.asks.length + 1
    await until(() => world.asks.length >= asks, PATIENCE_MS)
    await world.kill()
    await world.start()
  }
}

/** Each value where it came first. */
function firstsOf(values: readonly string[]): string[] {
  return [...new Set(values)]
}

function scriptsOf(world: World, name: string, size: number): Script[] {
  return Array.from({ length: size }, (_, index) => {
    const script = { token: `${name}-${index}`, rounds: [[CLASSES[index % CLASSES.length] ?? 'plain']] }
    world.add(script)
    return script
  })
}

async function startCase(world: World, id: string, script: Script, hasReader = true): Promise<Case> {
  const run = await startRun(world.url() ?? '', id, script)
  const follower = new Follower(id, run)
  if (hasReader) void follower.follow(world.url)
  return { script, conversation: id, run, follower }
}

async function endsOf(world: World, cases: readonly Case[]): Promise<string[]> {
  await until(() => cases.every((each) => each.follower?.hasSeenEnd), PATIENCE_MS)
  const faults = await Promise.all(
    cases.map(async (each) => {
      if (!each.follower?.hasSeenEnd) return [`${each.script.token}: the run has no end`]
      return (await examine(world, each, 1)).faults
    }),
  )
  return faults.flat()
}
