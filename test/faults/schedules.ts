import { setTimeout as sleep } from 'node:timers/promises'
import type { ScheduleSummary } from '../../src/contract/schedule.ts'
import { conversation } from './client.ts'
import { inputOf } from './script.ts'
import { until, type World } from './world.ts'

/** How many requests are under way side by side. */
const LANES = 20
const PAGE = 100
/** The pause between requests while runs are being started, in milliseconds. */
const REQUEST_PAUSE_MS = 200
/** How late a run may be started, in milliseconds; on a slow machine, as long as it took to store the schedules. */
const MOST_LATE_MS = 60_000
/** How long all of them may take on a slow machine, in milliseconds. */
const PATIENCE_MS = 20 * 60_000

/**
 * Stores so many schedules of one tenant and lists them page by page. `due` of them are due at one moment: each starts one
 * run, and requests are answered meanwhile. With `killAfter`, the edge is killed once its model was asked so often.
 */
export async function playSchedules(
  world: World,
  { stored, due, killAfter }: { readonly stored: number; readonly due: number; readonly killAfter?: number },
): Promise<string[]> {
  const faults: string[] = []
  const put = async (name: string, definition: object) => {
    const init = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(definition) }
    const response = await fetch(`${world.url() ?? ''}/schedules/${name}`, init)
    await response.text()
    if (response.status !== 201) faults.push(`${name} was answered with ${response.status}`)
  }
  const began = Date.now()
  await inLanes(stored - due, (index) => put(`other-${index}`, { cron: '0 0 29 2 *', run: { input: 'x' } }))
  // Slow machines get more time before the moment comes.
  const at = Date.now() + 30_000 + (2 * due * (Date.now() - began)) / Math.max(1, stored - due)
  const tokens = Array.from({ length: due }, (_, index) => `due-${index}`)
  for (const token of tokens) world.add({ token, rounds: [] })
  await inLanes(due, (index) =>
    put(`due-${index}`, { at: new Date(at).toISOString(), run: { input: inputOf(tokens[index] ?? '') } }),
  )
  const storingMs = Date.now() - began
  console.log(`${stored} schedules stored in ${seconds(storingMs)}; ${due} are due in ${seconds(at - Date.now())}`)
  if (Date.now() > at) faults.push('the moment came before all schedules were stored')

  await until(() => Date.now() > at, PATIENCE_MS)
  if (killAfter !== undefined) {
    await until(() => world.asks.length >= killAfter, PATIENCE_MS)
    await world.kill()
    await world.start()
  }
  let slowest = 0
  let requests = 0
  const hasAsked = () => new Set(world.asks.map(({ token }) => token)).size === due
  while (!hasAsked() && Date.now() < at + PATIENCE_MS) {
    const sentAt = Date.now()
    await page(world, '')
    slowest = Math.max(slowest, Date.now() - sentAt)
    requests += 1
    await sleep(REQUEST_PAUSE_MS)
  }
  console.log(`the model was asked for all of them after ${seconds(Date.now() - at)}`)
  console.log(`${requests} requests meanwhile, the slowest took ${seconds(slowest)}`)

  const schedules = await allOf(world, (own) => own.filter(({ last }) => last?.outcome === 'started').length === due)
  const entries = schedules.flatMap(({ last }) => (last ? [last] : []))
  if (schedules.length !== stored) faults.push(`${schedules.length} of ${stored} schedules are listed`)
  const runs = new Set(entries.filter(({ outcome }) => outcome === 'started').map(({ run }) => run))
  if (runs.size !== due || entries.length !== due)
    faults.push(`${entries.length} times are handled by ${runs.size} runs`)
  const asks = new Map(tokens.map((token) => [token, world.asks.filter((ask) => ask.token === token).length]))
  const isInterrupted = killAfter !== undefined
  for (const [token, count] of asks) {
    // A run that was killed amid its answer asks again.
    if (count >= 1 && count <= (isInterrupted ? 2 : 1)) continue
    const { run = '', conversation: id = '' } = schedules.find(({ name }) => name === token)?.last ?? {}
    const record = await conversation(world.url() ?? '', id).run(run)
    faults.push(`${token} has asked its model ${count} times: ${JSON.stringify(record)}`)
  }
  const latest = Math.max(...entries.map((entry) => Date.parse(entry.at) - at))
  console.log(`the last run was started ${seconds(latest)} after the moment`)
  if (!isInterrupted && latest > Math.max(MOST_LATE_MS, storingMs))
    faults.push(`a run was started ${seconds(latest)} late`)
  return faults
}

async function inLanes(count: number, work: (index: number) => Promise<void>): Promise<void> {
  const indexes = Array.from({ length: count }, (_, index) => index).values()
  const lane = async () => {
    for (const index of indexes) await work(index)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

async function page(world: World, after: string): Promise<ScheduleSummary[]> {
  const response = await fetch(`${world.url() ?? ''}/schedules?limit=${PAGE}&after=${after}`)
  if (!response.ok) throw new Error(`GET /schedules: ${response.status} ${await response.text()}`)
  return (await response.json()) as ScheduleSummary[]
}

/** Returns all schedules, page by page, once they are as they should be, or the time is over. */
async function allOf(
  world: World,
  isDone: (schedules: readonly ScheduleSummary[]) => boolean,
): Promise<ScheduleSummary[]> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const schedules: ScheduleSummary[] = []
    for (let more = await page(world, ''); more.length > 0; more = await page(world, more.at(-1)?.name ?? ''))
      schedules.push(...more)
    if (isDone(schedules) || Date.now() > deadline) return schedules
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
