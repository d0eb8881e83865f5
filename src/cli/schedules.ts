import { isObject } from '../contract/json.ts'
import { AT_EDGE, type Command, command } from './command/command.ts'
import { remote } from './command/remote.ts'
import type { Terminal } from './command/terminal.ts'
import { type EdgeAddress, type EdgeRequest, refusal, send } from './edge.ts'
import { Failure } from './failure.ts'
import { readJsonFile } from './text-file.ts'

interface ScheduleOptions {
  readonly edge: EdgeAddress
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

type Answer = Readonly<Record<string, unknown>>

const NAME = { name: { text: 'the name of the schedule' } }
/** How many schedules are asked for at a time. */
const PAGE = 1000

/** The commands about schedules, which ask an edge with a key that has the scope `schedules`. */
export const SCHEDULE_COMMANDS: readonly Command[] = [
  command({
    name: 'schedules list',
    summary: 'list the schedules of an edge, each with its next time and what the last one came to',
    arguments: {},
    options: AT_EDGE,
    run: async (invocation) => listSchedules(await remote(invocation, invocation.options.url)),
  }),
  command({
    name: 'schedules show',
    summary: 'print a schedule and its history',
    arguments: NAME,
    options: AT_EDGE,
    run: async (invocation) => {
      const options = await remote(invocation, invocation.options.url)
      const { name } = invocation.arguments
      const schedule = await askSchedule(options, name, { method: 'GET' })
      options.terminal.emit(schedule)
      options.terminal.print(textOf(schedule))
    },
  }),
  command({
    name: 'schedules set',
    summary: 'store a schedule: a JSON file with cron, at or everySeconds, and the body of a run',
    arguments: { ...NAME, file: { text: 'the file, such as report.json' } },
    options: AT_EDGE,
    run: async (invocation) => {
      const options = await remote(invocation, invocation.options.url)
      const { name, file } = invocation.arguments
      const body = readDefinition(`${invocation.root}/${file}`, file)
      const schedule = await askSchedule(options, name, { method: 'PUT', body })
      options.terminal.emit(schedule)
      options.terminal.print(`${lineOf(schedule)}\n`)
    },
  }),
  command({
    name: 'schedules run',
    summary: 'start a run of a schedule now',
    arguments: NAME,
    options: AT_EDGE,
    run: async (invocation) => {
      const options = await remote(invocation, invocation.options.url)
      const entry = await askSchedule(options, invocation.arguments.name, { method: 'POST', below: '/run' })
      options.terminal.emit(entry)
      options.terminal.print(`${String(entry['run'])} in ${String(entry['conversation'])}\n`)
    },
  }),
  pauseCommand('pause', 'start no run of a schedule until it is resumed', true),
  pauseCommand('resume', 'start the runs of a paused schedule again, from its next time on', false),
  command({
    name: 'schedules delete',
    summary: 'remove a schedule; its runs stay',
    arguments: NAME,
    options: AT_EDGE,
    run: async (invocation) => {
      const { edge, terminal, signal } = await remote(invocation, invocation.options.url)
      const { name } = invocation.arguments
      const response = await send(edge, { method: 'DELETE', path: pathOf(name) }, signal)
      if (!response.ok) throw await refusal(`${name} was not removed`, response)
      terminal.emit({ name, removed: true })
      terminal.print(`${name} is removed.\n`)
    },
  }),
]

function pauseCommand(verb: 'pause' | 'resume', summary: string, paused: boolean): Command {
  return command({
    name: `schedules ${verb}`,
    summary,
    arguments: NAME,
    options: AT_EDGE,
    run: async (invocation) => {
      const options = await remote(invocation, invocation.options.url)
      const { name } = invocation.arguments
      const schedule = await askSchedule(options, name, { method: 'PATCH', body: { paused } })
      options.terminal.emit(schedule)
      options.terminal.print(`${lineOf(schedule)}\n`)
    },
  })
}

async function listSchedules({ edge, terminal, signal }: ScheduleOptions): Promise<void> {
  for (let after = ''; ;) {
    const query = after === '' ? '' : `&after=${encodeURIComponent(after)}`
    const response = await send(edge, { method: 'GET', path: `/schedules?limit=${PAGE}${query}` }, signal)
    if (!response.ok) throw await refusal('The schedules cannot be listed', response)
    const page: unknown = await response.json()
    const schedules = Array.isArray(page) ? page.filter(isObject) : []
    for (const schedule of schedules) {
      terminal.emit(schedule)
      terminal.print(`${lineOf(schedule)}\n`)
    }
    if (schedules.length < PAGE) return
    after = String(schedules.at(-1)?.['name'])
  }
}

async function askSchedule(
  { edge, signal }: ScheduleOptions,
  name: string,
  { below = '', ...request }: Omit<EdgeRequest, 'path'> & { readonly below?: string },
): Promise<Answer> {
  const response = await send(edge, { ...request, path: pathOf(name) + below }, signal)
  if (!response.ok) throw await refusal(name, response)
  const body: unknown = await response.json()
  if (isObject(body)) return body
  throw new Failure(`${edge.url} does not answer as an edge does.`)
}

function pathOf(name: string): string {
  return `/schedules/${encodeURIComponent(name)}`
}

function readDefinition(path: string, file: string): unknown {
  try {
    return readJsonFile(path)
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Returns a schedule as one line: its name, its times, its next time, and what the last one came to. */
function lineOf({ name, paused, next, last, waiting, ...times }: Answer): string {
  const state = paused === true ? 'paused' : typeof next === 'string' ? `next ${next}` : 'no further time'
  const words = [name, timesOf(times), state]
  if (isObject(waiting)) words.push(`waits (${String(waiting['code'])})`)
  if (isObject(last)) words.push(`last ${outcomeOf(last)}`)
  return words.map(String).join('  ')
}

function timesOf({ cron, timeZone, at, everySeconds }: Answer): string {
  if (typeof cron === 'string') return typeof timeZone === 'string' ? `${cron} (${timeZone})` : cron
  return typeof at === 'string' ? `at ${at}` : `every ${String(everySeconds)} s`
}

function outcomeOf({ due, outcome, code, run }: Answer): string {
  const reason = typeof code === 'string' ? ` (${code})` : ''
  return `${String(outcome)}${reason} ${String(due)}${typeof run === 'string' ? ` ${run}` : ''}`
}

function textOf(schedule: Answer): string {
  const { history, run } = schedule
  const entries = Array.isArray(history) ? history.filter(isObject) : []
  return `${[lineOf({ ...schedule, last: undefined }), JSON.stringify(run), ...entries.map(outcomeOf)].join('\n')}\n`
}
