import { contentText } from '../../../src/contract/message.ts'
import type { RunRecord } from '../../../src/contract/run.ts'
import { gather, startRun } from '../case.ts'
import { conversation } from '../client.ts'
import { eventsOf, type Evidence } from '../evidence.ts'
import { streamFaults } from '../judge.ts'
import { effectText } from '../recorder.ts'
import { insist } from '../world.ts'
import {
  addScript,
  callWords,
  endWithApprovals,
  type Ending,
  type Kind,
  otherRunFaults,
  send,
  type Stage,
  tokensOf,
  usageFaults,
  type WaitingCall,
  watch,
} from './kind.ts'

/** The tools that a program calls at once, in this order. */
const TOOLS = ['plain', 'idempotent', 'readOnly', 'later', 'tellsOutcome', 'approved', 'plain', 'approved'] as const
/** What a call may come to without an answer: nobody knows, or it took too long. */
const HONEST = new Set(['outcome_unknown', 'no_outcome', 'timeout'])
const REPEATABLE = new Set(['idempotent', 'readOnly'])
/** How often a call that may be repeated is sent at the most. */
const MOST_ATTEMPTS = 3
/**
 * Programs with eight calls at once, of all classes and with approvals among them, then a second wave that depends on
 * which answered first. They return in which order they were answered.
 */
function programOf(token: string): string {
  return `const order = []
const call = (index, tool) => tools[tool]({ what: '${token}/1/' + index }).then(
  () => order.push(index + ' ok'), (error) => order.push(index + ' ' + error.code))
const wave = ${JSON.stringify(TOOLS)}.map((tool, index) => call(index, tool))
wave.push(new Promise((resolve) => setTimeout(resolve, 150)).then(() => order.push('timer')))
await Promise.race(wave)
await Promise.any([call(8, order[0].startsWith('1') ? 'idempotent' : 'readOnly'), call(9, 'plain')])
await Promise.all(wave)
await call(10, Math.random() < 0.5 ? 'plain' : 'readOnly')
return order`
}

/** Runs of such programs, with people who approve. */
export const programs: Kind = { name: 'programs', play }

async function play(stage: Stage): Promise<Ending> {
  const { world, token } = stage
  const script = addScript(stage, { token, rounds: [['readOnly']], program: programOf(token) })
  const id = `of-${token}`
  await insist(world, (url) => conversation(url, id).make())
  const run = await send(stage, 'the run', (url) => startRun(url, id, script, { code: 'only' }))
  const each = { script, conversation: id, run, ...watch(stage, id, run) }
  const faults = await endWithApprovals(stage, each, (url) => waitingOf(url, id, run))
  if (faults.length > 0) return { faults, calls: [], tokens: 0 }
  const evidence = await gather(world, each)
  const tokens = tokensOf(evidence)
  const runFaults = [
    ...streamFaults(evidence),
    ...programFaults(evidence),
    ...(await otherRunFaults(world, each)),
    ...usageFaults(evidence.record, tokens),
  ]
  return { faults: runFaults.map((fault) => `${token}: ${fault}`), calls: callWords(evidence), tokens }
}

async function waitingOf(url: string, id: string, run: string): Promise<WaitingCall[]> {
  const { calls } = await conversation(url, id).run(run)
  return calls.flatMap((call) => (call.status === 'approval' ? [{ conversation: id, run, call: call.id }] : []))
}

function innerCalls({ calls }: RunRecord): RunRecord['calls'] {
  return calls.filter(({ parent }) => parent !== undefined)
}

/** What is against the contract in what is left of a program: nothing doubled, nothing lost, nothing diverged. */
function programFaults({ record, replay, effects }: Evidence): string[] {
  const faults: string[] = []
  if (record.status !== 'completed') faults.push(`the run is ${record.status}: ${JSON.stringify(record.error)}`)
  if (replay.some(({ event }) => event.type === 'program.diverged')) faults.push('the program diverged')
  const calls = innerCalls(record)
  if (calls.length !== TOOLS.length + 3) faults.push(`the program made ${calls.length} calls`)
  for (const { id, tool, ok, content = [], error } of calls) {
    const ownEffects = effects.filter(({ callId }) => callId === id)
    const keys = new Set(ownEffects.map(({ idempotencyKey }) => idempotencyKey))
    const settlements = eventsOf(replay, id).filter(({ type }) => type === 'call.settled').length
    if (settlements !== 1) faults.push(`${tool} ${id} was settled ${settlements} times`)
    if (keys.size > 1) faults.push(`${tool} ${id} was sent with several keys`)
    if (!REPEATABLE.has(tool) && ownEffects.length > 1)
      faults.push(`${tool} ${id} took effect ${ownEffects.length} times`)
    const [first] = ownEffects
    if (ok && (!first || contentText(content) !== effectText(effects, first.idempotencyKey)))
      faults.push(`${tool} ${id} is said to have given "${contentText(content)}"`)
    const attempts = eventsOf(replay, id).filter(({ type }) => type === 'call.started').length
    if (error?.code === 'outcome_unknown' && REPEATABLE.has(tool) && attempts < MOST_ATTEMPTS)
      faults.push(`${tool} ${id} was given up after ${attempts} attempts`)
    if (!ok && !HONEST.has(error?.code ?? '')) faults.push(`${tool} ${id} failed with ${error?.code}`)
  }
  const [program] = record.calls
  const order: unknown = program?.structured ?? JSON.parse(contentText(program?.content ?? []) || 'null')
  // The answers as they were recorded, of those that were asked for under a number.
  const asks = new Map(
    replay.flatMap(({ event }) => (event.type === 'call.issued' ? [[event.callId, event] as const] : [])),
  )
  const journal = replay.flatMap(({ event }) => {
    if (event.type === 'program.woken') return ['timer']
    const issue = event.type === 'call.settled' ? asks.get(event.callId) : undefined
    if (!issue || event.type !== 'call.settled') return []
    const { what } = JSON.parse(issue.arguments) as { what: string }
    return [`${what.split('/').at(-1)} ${event.ok ? 'ok' : event.error?.code}`]
  })
  // The program does not wait for both calls of its second wave: what is answered after its last call may come too late.
  const end = journal.findIndex((answer) => answer.startsWith('10 ')) + 1
  const isWhole = Array.isArray(order) && end > 0 && order.length >= end
  if (!isWhole || JSON.stringify(order) !== JSON.stringify(journal.slice(0, order.length)))
    faults.push(
      `the program saw ${JSON.stringify(order)}, and ${JSON.stringify(journal)} is recorded; ${program?.error?.message}`,
    )
  return faults
}
