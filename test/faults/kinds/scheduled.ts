import { setTimeout as sleep } from 'node:timers/promises'
import type { Schedule, ScheduleEntry } from '../../../src/contract/schedule.ts'
import { post } from '../client.ts'
import { inputOf } from '../script.ts'
import { insist, type World } from '../world.ts'
import { addScript, type Ending, type Kind, send, type Stage } from './kind.ts'
import { endOf } from './triggered.ts'

/** How often a schedule is asked for, in milliseconds. */
const EVERY_MS = 500
/** The least time that is left until a schedule is due when it is stored, in milliseconds. */
const LEAST_MS = 5000
const MINUTE_MS = 60_000
/** How long it may take until a run was started, in milliseconds: until it is due, over a kill, and on a busy machine. */
const PATIENCE_MS = 4 * MINUTE_MS

/** Runs that are due, and runs that a person starts of a schedule. */
export const scheduled: readonly Kind[] = [
  { name: 'scheduled by cron', play: playDue },
  { name: 'scheduled by hand', play: playManual },
]

async function playDue(stage: Stage): Promise<Ending> {
  const { world, token } = stage
  const script = addScript(stage, { token, rounds: [['plain', 'readOnly'], ['tellsNothing']] })
  // One that was stored before its answer was lost may have been due meanwhile.
  await send(stage, 'the schedule', async (url) => (await scheduleOf(url, token)) ?? store(url, token))
  const entry = await entryOf(world, token)
  if (!entry) return { faults: [`${token}: no run was started`], calls: [], tokens: 0 }
  return endOfEntry(stage, script, entry)
}

async function playManual(stage: Stage): Promise<Ending> {
  const { world, token } = stage
  const script = addScript(stage, { token, rounds: [['plain', 'idempotent'], ['tellsDone']] })
  await insist(world, (url) => put(url, token, '0 0 29 2 *'))
  const entry = await send(stage, 'the start', async (url) => {
    const { status, body } = await post(`${url}/schedules/${token}/run`, {}, { 'idempotency-key': token })
    if (status !== 202) throw new Error(`${token}: ${status} ${JSON.stringify(body)}`)
    return body as ScheduleEntry
  })
  return endOfEntry(stage, script, entry)
}

/** Waits for the end of the run of an entry of the history, which has no other one. */
async function endOfEntry(
  stage: Stage,
  script: ReturnType<typeof addScript>,
  { outcome, run = '', conversation = '', code }: ScheduleEntry,
): Promise<Ending> {
  const { world, token } = stage
  if (outcome !== 'started') return { faults: [`${token}: the run was ${outcome}: ${code}`], calls: [], tokens: 0 }
  const ending = await endOf(stage, { script, conversation, run })
  const { history = [] } = (await insist(world, (url) => scheduleOf(url, token))) ?? {}
  const runs = history.map((entry) => entry.run).join(', ')
  return runs === run ? ending : { ...ending, faults: [...ending.faults, `${token}: the history has the runs ${runs}`] }
}

/** Stores a schedule that is due once, at the next minute but for a few seconds. */
async function store(url: string, name: string): Promise<Schedule> {
  const due = new Date(Math.ceil((Date.now() + LEAST_MS) / MINUTE_MS) * MINUTE_MS)
  const fields = [due.getUTCMinutes(), due.getUTCHours(), due.getUTCDate(), due.getUTCMonth() + 1]
  return put(url, name, `${fields.join(' ')} *`)
}

async function put(url: string, name: string, cron: string): Promise<Schedule> {
  const response = await fetch(`${url}/schedules/${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ cron, run: { input: inputOf(name) } }),
  })
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Schedule
}

async function scheduleOf(url: string, name: string): Promise<Schedule | undefined> {
  const response = await fetch(`${url}/schedules/${name}`)
  return response.ok ? ((await response.json()) as Schedule) : undefined
}

async function entryOf(world: World, name: string): Promise<ScheduleEntry | undefined> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(EVERY_MS)) {
    const [entry] = (await insist(world, (url) => scheduleOf(url, name)))?.history ?? []
    if (entry) return entry
  }
  return undefined
}
