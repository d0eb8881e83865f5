import { setTimeout as sleep } from 'node:timers/promises'
import type { Case } from './case.ts'
import { startRun } from './case.ts'
import { conversation } from './client.ts'
import type { Script, ToolName } from './script.ts'
import { until, type World } from './world.ts'

/** How soon after the edge is up again a run must continue without any request, and a call that may be repeated or looked up end after that, in milliseconds. */
const MOST_MS = { alone: 3000, call: 1000 }
/** How long a run is under way before the edge is killed, in milliseconds: before the alarm that stays has rung, and after. */
const AGES_MS = [0, 2000, 12_000] as const
/** Calls that need not wait for their deadlines, as they have had their effects. */
const QUICK: readonly ToolName[] = ['readOnly', 'tellsOutcome', 'tellsDone']

/**
 * Kills the edge amid calls whose effects were had, at several ages of their runs, and measures how soon the runs continue
 * that nobody asks for, and how soon after that the calls end. Returns what took too long.
 */
export async function playRecoveryTimes(world: World): Promise<string[]> {
  const faults: string[] = []
  for (const age of AGES_MS) {
    const tools = [...QUICK, 'plain'] as const
    const cases = await Promise.all(
      Array.from({ length: 8 }, (_, index) => begin(world, `age-${age}-${index}`, index < 4 ? tools : [])),
    )
    await until(() => cases.every((each) => isHeld(world, each)), 30_000)
    await sleep(age)
    await world.kill()
    const killed = Date.now()
    await world.start()
    const up = Date.now()
    const isContinued = ({ script }: Case) => world.hasAsked(script.token)
    await until(() => cases.every(isContinued), 60_000)
    const times = cases.map(({ script: { token } }) => {
      const { at = Infinity } = world.asks.find((ask) => ask.token === token && ask.life === world.life()) ?? {}
      return at - up
    })
    const [withCalls, alone] = [times.slice(0, 4), times.slice(4)]
    console.log(
      `killed after ${age} ms, up ${up - killed} ms later: ${alone.join(', ')} ms; with calls: ${withCalls.join(', ')} ms`,
    )
    for (const ms of alone) if (ms > MOST_MS.alone) faults.push(`a run continued after ${ms} ms`)
    for (const ms of withCalls)
      if (ms > MOST_MS.alone + MOST_MS.call) faults.push(`the calls of a run ended after ${ms} ms`)
  }
  return faults
}

function isHeld(world: World, { script: { token, rounds } }: Case): boolean {
  const calls = rounds[0]?.length ?? 0
  if (calls === 0) return world.asks.some((ask) => ask.token === token)
  return world.effects.filter(({ what }) => what.startsWith(`${token}/`)).length === calls
}

async function begin(world: World, token: string, tools: readonly ToolName[]): Promise<Case> {
  const first = world.life()
  const pause = async (point: string) => {
    const isHold = point === (tools.length > 0 ? 'effect 1' : 'asked 1')
    if (isHold && world.life() === first) await new Promise(() => {})
  }
  const script: Script = { token, rounds: tools.length > 0 ? [tools] : [], pause }
  world.add(script)
  await conversation(world.url() ?? '', token).make()
  return { script, conversation: token, run: await startRun(world.url() ?? '', token, script) }
}
