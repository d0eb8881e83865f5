import { contentText } from '../../../src/contract/message.ts'
import type { ListedApproval } from '../../../src/contract/run-list.ts'
import { type Case, gather, startRun } from '../case.ts'
import type { Chance } from '../chance.ts'
import { conversation, get } from '../client.ts'
import { callsOf, type Evidence, eventsOf } from '../evidence.ts'
import { CLASSES, childToken, isAgent, type Script, type ToolName } from '../script.ts'
import { insist, type World } from '../world.ts'
import {
  addScript,
  callWords,
  endWithApprovals,
  type Ending,
  type Kind,
  otherRunFaults,
  runFaults,
  send,
  type Stage,
  tokensOf,
  usageFaults,
  type WaitingCall,
  watch,
} from './kind.ts'

/** Runs that call agents with tools of all classes, and an approval in each. */
export const agents: Kind = {
  name: 'agents',
  play: (stage) =>
    play(stage, ({ chance }) => [
      ['clerk', ...drawTools(chance)],
      ['clerk', 'clerk'],
    ]),
}

/** The same with agents that call agents: the approvals are in the innermost. */
export const agentsOfAgents: Kind = {
  name: 'agents of agents',
  play: (stage) =>
    play(stage, ({ chance }) => [['boss', ...drawTools(chance)], chance.isHit(0.5) ? ['boss', 'boss'] : ['boss']]),
}

type Scripts = ReadonlyMap<string, Script>

async function play(stage: Stage, roundsOf: (stage: Stage) => ToolName[][]): Promise<Ending> {
  const { world, token } = stage
  const scripts = new Map<string, Script>()
  addScripts(stage, scripts, { token, rounds: roundsOf(stage) })
  const id = `of-${token}`
  await insist(world, (url) => conversation(url, id).make())
  const script = scripts.get(token) ?? { token, rounds: [] }
  const run = await send(stage, 'the run', (url) => startRun(url, id, script))
  const each = { script, conversation: id, run, ...watch(stage, id, run) }
  const faults = await endWithApprovals(stage, each, (url) => waitingOf(url, stage, id))
  return faults.length > 0 ? { faults, calls: [], tokens: 0 } : judge(world, each, scripts)
}

/** Makes the script of a run known, and those of the agents that it calls. */
function addScripts(stage: Stage, scripts: Map<string, Script>, script: Omit<Script, 'pause'>): void {
  const role = script.token.slice(stage.token.length)
  scripts.set(script.token, addScript(stage, script, role === '' ? '' : `agent ${role}`))
  for (const [before, tools] of script.rounds.entries()) {
    for (const [index, tool] of tools.entries()) {
      const token = childToken(script.token, before + 1, index)
      if (isAgent(tool)) addScripts(stage, scripts, { token, rounds: drawRounds(stage.chance, tool) })
    }
  }
}

function drawRounds(chance: Chance, agent: ToolName): ToolName[][] {
  if (agent === 'boss') return [[...drawTools(chance), 'clerk'], ['clerk']]
  const rounds: ToolName[][] = [[...drawTools(chance), 'approved'], drawTools(chance)]
  return rounds.filter((tools) => tools.length > 0)
}

function drawTools(chance: Chance): ToolName[] {
  return chance.list(0, 2, () => chance.pick(CLASSES))
}

/** The calls of the run and of its agents that wait, in the list of all approvals; each is decided there or in the outermost run. */
async function waitingOf(url: string, { chance }: Stage, id: string): Promise<WaitingCall[]> {
  const approvals = (await get(`${url}/approvals`)) as ListedApproval[]
  return approvals.flatMap(({ path: [outermost] = [], id: call, ...place }) => {
    if (outermost?.conversation !== id) return []
    // The outermost run may not have heard of it yet.
    const { run } = chance.isHit(0.5) ? outermost : place
    return [{ conversation: run === outermost.run ? id : place.conversation, run, call }]
  })
}

/** Judges a run, and those of the agents that it has called. */
async function judge(world: World, each: Case, scripts: Scripts): Promise<Ending> {
  const evidence = await gather(world, each)
  const { token } = each.script
  const faults = [...runFaults(evidence), ...agentFaults(evidence), ...(await otherRunFaults(world, each))]
  const proposals = callsOf(each.script, each.run)
  const below = await Promise.all(
    evidence.record.calls.flatMap((call, index) => {
      const { round = 0 } = proposals[index] ?? {}
      const script = scripts.get(childToken(token, round, Number(call.id.split('_').at(-1))))
      return call.child && script ? [judge(world, { script, ...call.child }, scripts)] : []
    }),
  )
  const tokens = below.reduce((sum, child) => sum + child.tokens, tokensOf(evidence))
  faults.push(...usageFaults(evidence.record, tokens))
  return {
    faults: [...faults.map((fault) => `${token}: ${fault}`), ...below.flatMap((child) => child.faults)],
    calls: [...callWords(evidence), ...below.flatMap((child) => child.calls)],
    tokens,
  }
}

/** What is against the contract in the calls of agents: each is settled once, with the answer of the one run that it has. */
function agentFaults({ script, run, record, replay }: Evidence): string[] {
  const faults: string[] = []
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
