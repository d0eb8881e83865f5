import { setTimeout as sleep } from 'node:timers/promises'
import { contentText } from '../../src/contract/message.ts'
import type { RunRecord } from '../../src/contract/run.ts'
import { type Case, gather, startRun, untilRecord } from './case.ts'
import type { Chance } from './chance.ts'
import { conversation, post } from './client.ts'
import { eventsOf, type Evidence } from './evidence.ts'
import { streamFaults } from './judge.ts'
import { effectText } from './recorder.ts'
import type { Script } from './script.ts'
import { PATIENCE_MS, SPREAD_MS, until, WATCHDOG_MS, type World } from './world.ts'

/** The tools that a program calls at once, in this order. */
const TOOLS = ['plain', 'idempotent', 'readOnly', 'later', 'tellsOutcome', 'approved', 'plain', 'approved'] as const
/** What a call may come to without an answer: nobody knows, it took too long, or its tool had just failed too often. */
const HONEST = new Set(['outcome_unknown', 'no_outcome', 'timeout', 'tool_paused'])
const REPEATABLE = new Set(['idempotent', 'readOnly'])
/** How often a call that may be repeated is sent at the most. */
const MOST_ATTEMPTS = 3
/** Milliseconds for a call, so that the fence of a lost one is soon over. */
const CALL_MS = 3000
const DECIDING_MS = 500

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

export interface ProgramsEnd {
  readonly faults: readonly string[]
  readonly kills: number
  readonly tally: readonly string[]
}

/** Plays runs of such programs, with people who approve, and kills the edge at random moments until so many were made. */
export async function playPrograms(
  world: World,
  chance: Chance,
  { runs, kills }: { runs: number; kills: number },
): Promise<ProgramsEnd> {
  const name = `p${chance.between(0, 1e9)}`
  const scripts = Array.from({ length: runs }, (_, index): Script => {
    const token = `${name}-${index}`
    const pause = async () => sleep(chance.between(0, 300))
    return { token, rounds: [['readOnly']], program: programOf(token), pause }
  })
  const cases = await Promise.all(scripts.map((script) => begin(world, script)))
  let isOver = false
  const people = decideAll(world, cases, () => isOver)
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
  }
}

async function begin(world: World, script: Script): Promise<Case> {
  world.add(script)
  const id = `of-${script.token}`
  await conversation(world.url() ?? '', id).make()
  const run = await startRun(world.url() ?? '', id, script, { code: 'only', limits: { callMs: CALL_MS } })
  return { script, conversation: id, run }
}

/** Approves whatever waits, again where a kill came between. */
async function decideAll(world: World, cases: readonly Case[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    for (const { conversation: id, run } of cases) {
      const url = world.url()
      if (url === undefined) break
      try {
        const record = await conversation(url, id).run(run)
        for (const call of record.calls.filter(({ status }) => status === 'approval'))
          await post(`${url}/conversations/${id}/runs/${run}/calls/${call.id}`, { decision: 'approve' })
      } catch {
        // The edge has just been killed.
      }
    }
    await sleep(DECIDING_MS)
  }
}

async function endOf(world: World, each: Case): Promise<{ faults: readonly string[]; words: readonly string[] }> {
  const { token } = each.script
  const isDone = await until(() => world.url() !== undefined, PATIENCE_MS)
  if (!isDone || !(await untilRecord(world, each, ({ status }) => /completed|failed|cancelled|parked/.test(status))))
    return { faults: [`${token}: the run has no end`], words: [] }
  const evidence = await gather(world, each)
  const faults = [...streamFaults(evidence), ...programFaults(evidence)]
  const outcomes = innerCalls(evidence.record).map(({ tool, ok, error }) => `${tool} ${ok ? 'ok' : error?.code}`)
  const passes = evidence.replay.filter(({ event }) => event.type === 'call.started' && event.isProgram).length
  return { faults: faults.map((fault) => `${token}: ${fault}`), words: [...outcomes, `passes ${passes}`] }
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
