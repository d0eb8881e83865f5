import { setTimeout as sleep } from 'node:timers/promises'
import { contentText } from '../../src/contract/message.ts'
import type { ListedApproval } from '../../src/contract/run-list.ts'
import { isTerminal } from '../../src/contract/run.ts'
import { type Case, gather, startRun, untilRecord } from './case.ts'
import type { Chance } from './chance.ts'
import { conversation, get, post } from './client.ts'
import { callsOf, type Evidence, eventsOf } from './evidence.ts'
import { streamFaults } from './judge.ts'
import { callFaults } from './judge-calls.ts'
import { CLASSES, childToken, isAgent, type Script, type ToolName, USAGE } from './script.ts'
import { PATIENCE_MS, SPREAD_MS, until, WATCHDOG_MS, type World } from './world.ts'

const DECIDING_MS = 300
/** How long a run may show no change, in milliseconds: its agents are at work, or it is parked and soon tried again. */
const STANDSTILL_MS = 5 * 60_000
/** How long the directory may take to hear of the last runs, in milliseconds, after reports that were lost. */
const REPORTING_MS = 120_000

export interface AgentsEnd {
  readonly faults: readonly string[]
  readonly kills: number
  readonly tally: readonly string[]
  /** The tokens of all runs, as their journals have them. */
  readonly tokens: number
}

/**
 * Plays runs that call agents, which call agents, with tools of all classes on each level and approvals in the innermost;
 * people find these in `GET /approvals`, and decide there or in the outermost run. The edge is killed at random moments.
 */
export async function playAgents(
  world: World,
  chance: Chance,
  { runs, kills }: { runs: number; kills: number },
): Promise<AgentsEnd> {
  const name = `a${chance.between(0, 1e9)}`
  const cases = await Promise.all(
    Array.from({ length: runs }, (_, index) => begin(world, drawScripts(chance, `${name}-${index}`))),
  )
  let isOver = false
  const people = decideAll(world, chance, () => isOver)
  let count = 0
  for (; count < kills; count += 1) {
    // In the middle of the work, as the edge starts again, and when the alarms come.
    await sleep(
      chance.pick([chance.between(100, 1500), chance.between(1500, 6000), WATCHDOG_MS + chance.between(0, SPREAD_MS)]),
    )
    await world.kill()
    await world.start('the same port')
  }
  const ends = await Promise.all(cases.map((each) => endOf(world, each)))
  isOver = true
  await people
  const tally = Map.groupBy(
    ends.flatMap(({ words }) => words),
    (word) => word,
  )
  return {
    faults: ends.flatMap(({ faults }) => faults),
    kills: count,
    tally: [...tally].map(([word, all]) => `${word} × ${all.length}`).sort(),
    tokens: ends.reduce((sum, each) => sum + each.tokens, 0),
  }
}

/** Waits until the usage of the tenant is that of the journals, and returns a fault if it does not come to be. */
export async function usageFaults(world: World, tokens: number): Promise<string[]> {
  const deadline = Date.now() + REPORTING_MS
  for (;;) {
    const { usage } = (await get(`${world.url()}/usage?by=key`)) as { usage: readonly Record<string, number>[] }
    const sum = usage.reduce((total, { inputTokens = 0, outputTokens = 0 }) => total + inputTokens + outputTokens, 0)
    if (sum === tokens) return []
    if (Date.now() > deadline || sum > tokens) return [`the usage is ${sum} tokens, and the journals have ${tokens}`]
    await sleep(1000)
  }
}

interface Family {
  readonly scripts: ReadonlyMap<string, Script>
  readonly outermost: Script
}

/** Draws the script of a run and those of the agents that it calls, at two levels. */
function drawScripts(chance: Chance, token: string): Family {
  const scripts = new Map<string, Script>()
  const effects = () => chance.list(0, 2, () => chance.pick(CLASSES))
  const add = (own: string, rounds: Script['rounds'], next?: (child: string) => void): Script => {
    const pauses = new Map<string, number>()
    const pause = async (point: string) => {
      if (!pauses.has(point)) pauses.set(point, chance.between(0, 300))
      await sleep(pauses.get(point))
    }
    const script = { token: own, rounds, pause }
    scripts.set(own, script)
    for (const [before, tools] of rounds.entries())
      for (const [index, tool] of tools.entries()) if (isAgent(tool)) next?.(childToken(own, before + 1, index))
    return script
  }
  const addClerk = (own: string) => {
    const rounds: ToolName[][] = [[...effects(), 'approved'], effects()]
    add(
      own,
      rounds.filter((round) => round.length > 0),
    )
  }
  const addBoss = (own: string) => void add(own, [[...effects(), 'clerk'], ['clerk']], addClerk)
  const rounds: ToolName[][] = [['boss', ...effects()], chance.isHit(0.5) ? ['boss', 'boss'] : ['boss']]
  return { scripts, outermost: add(token, rounds, addBoss) }
}

interface FamilyCase extends Case {
  readonly scripts: Family['scripts']
}

async function begin(world: World, { scripts, outermost }: Family): Promise<FamilyCase> {
  for (const script of scripts.values()) world.add(script)
  const id = `of-${outermost.token}`
  await conversation(world.url() ?? '', id).make()
  const run = await startRun(world.url() ?? '', id, outermost)
  return { script: outermost, scripts, conversation: id, run }
}

/** Approves whatever is listed, again where a kill came between. */
async function decideAll(world: World, chance: Chance, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const url = world.url()
    try {
      for (const call of url === undefined ? [] : ((await get(`${url}/approvals`)) as ListedApproval[])) {
        const [outermost] = call.path ?? []
        // The outermost run may not have heard of it yet.
        const place = outermost && chance.isHit(0.5) ? outermost : call
        await post(`${url}/conversations/${place.conversation}/runs/${place.run}/calls/${call.id}`, {
          decision: 'approve',
        })
      }
    } catch {
      // The edge has just been killed.
    }
    await sleep(DECIDING_MS)
  }
}

interface CaseEnd {
  readonly faults: readonly string[]
  readonly words: readonly string[]
  readonly tokens: number
}

async function endOf(world: World, each: FamilyCase): Promise<CaseEnd> {
  const { token } = each.script
  const isDone = await until(() => world.url() !== undefined, PATIENCE_MS)
  if (!isDone || !(await untilRecord(world, each, ({ status }) => isTerminal(status), STANDSTILL_MS)))
    return { faults: [`${token}: the run has no end`], words: [], tokens: 0 }
  return judge(world, each, each.scripts)
}

/** Judges a run, and those of the agents that it has called. */
async function judge(world: World, each: Case, scripts: Family['scripts']): Promise<CaseEnd> {
  const evidence = await gather(world, each)
  const { token } = each.script
  const runs = await conversation(world.url() ?? '', each.conversation).runs()
  const faults = [...streamFaults(evidence), ...callFaults(evidence), ...agentFaults(evidence)]
  if (runs.length !== 1) faults.push(`its conversation has ${runs.length} runs`)
  const steps = evidence.replay.filter(({ event }) => event.type === 'step.answered').length
  const own = steps * (USAGE.inputTokens + USAGE.outputTokens)
  const below = await Promise.all(
    evidence.record.calls.flatMap((call, index) => {
      const proposal = callsOf(each.script, each.run)[index]
      const place = proposal && scripts.get(childToken(token, proposal.round, Number(call.id.split('_').at(-1))))
      return call.child && place ? [judge(world, { script: place, ...call.child }, scripts)] : []
    }),
  )
  const tokens = below.reduce((sum, child) => sum + child.tokens, own)
  const { inputTokens, outputTokens } = evidence.record.usage
  if (inputTokens + outputTokens !== tokens)
    faults.push(`its usage is ${inputTokens + outputTokens} tokens, and the journals below have ${tokens}`)
  const words = evidence.record.calls.map(({ tool, ok, error }) => `${tool} ${ok ? 'ok' : error?.code}`)
  return {
    faults: [...faults.map((fault) => `${token}: ${fault}`), ...below.flatMap((child) => child.faults)],
    words: [...words, ...below.flatMap((child) => child.words)],
    tokens,
  }
}

/** What is against the contract in the calls of agents: each is settled once, with the answer of the one run that it has. */
function agentFaults({ script, run, record, replay }: Evidence): string[] {
  const faults: string[] = []
  if (record.status !== 'completed') faults.push(`the run is ${record.status}: ${JSON.stringify(record.error)}`)
  for (const { id, tool } of callsOf(script, run).filter((call) => isAgent(call.tool))) {
    const call = record.calls.find((each) => each.id === id)
    const events = eventsOf(replay, id)
    const settlements = events.filter(({ type }) => type === 'call.settled').length
    const children = new Set(
      events.flatMap((event) => (event.type === 'call.deferred' && event.child ? [event.child.run] : [])),
    )
    if (settlements !== 1) faults.push(`${tool} ${id} was settled ${settlements} times`)
    if (children.size !== 1) faults.push(`${tool} ${id} has ${children.size} runs`)
    const text = contentText(call?.content ?? [])
    if (!call?.ok || !text.startsWith('Done with '))
      faults.push(`${tool} ${id} ended with ${JSON.stringify(call?.error)} "${text}"`)
  }
  return faults
}
