import { isObject } from '../../contract/json.ts'

type Entry = Readonly<Record<string, unknown>>

/**
 * Prints the lines of a running edge: of each run one tree, with its faults, and of everything else the line as it is.
 * `hasRuns`: whether the edge logs runs; if not, each fault of a run is a tree of its own. Default: yes.
 */
export function runLog(write: (text: string) => void, hasRuns = true): (line: string) => void {
  /** The steps, calls and faults of the runs under way, by run id. */
  const entriesByRun = new Map<string, Entry[]>()
  return (line) => {
    const entry = readEntry(line)
    if (!entry) return REQUEST.test(line) ? undefined : write(`${line}\n`)
    const id = String(entry['runId'])
    if (!hasRuns && FAULTS.has(String(entry['event']))) return write(`${id}\n└ ${faultText(entry)}\n`)
    const entries = entriesByRun.get(id) ?? []
    if (entry['event'] !== 'run') entriesByRun.set(id, [...entries, entry])
    else {
      entriesByRun.delete(id)
      write(treeOf(entry, entries))
    }
  }
}

const OUTLINE_EVENTS = new Set(['step', 'call', 'run'])
const FAULTS = new Set(['call.failed', 'model.failed', 'model.retried', 'run.interrupted', 'run.parked'])

/** wrangler's own line of a request: the tree of its run says more. */
const REQUEST = /^\[wrangler:info\] [A-Z]+ \//

/** Reads a line of `LOG=runs`, before which wrangler writes the name of the Worker. */
function readEntry(line: string): Entry | undefined {
  const text = line.replace(/^\[[\w-]+\] /, '')
  if (!text.startsWith('{"event":')) return undefined
  try {
    const entry: unknown = JSON.parse(text)
    const isOfRun =
      isObject(entry) && (OUTLINE_EVENTS.has(String(entry['event'])) || FAULTS.has(String(entry['event'])))
    if (!isOfRun || !('runId' in entry)) return undefined
    return entry
  } catch {
    return undefined
  }
}

/** Formats a run: its outcome, and below it its steps with their calls. */
function treeOf(run: Entry, entries: readonly Entry[]): string {
  const ended = run['status'] === 'completed' ? 'completed' : `${String(run['status'])} (${codeOf(run)})`
  const head = [run['runId'], ended, run['model'], tokensOf(run), run['conversation']].map(textOf)
  const lines = entries.map((entry, at) => {
    const isLast = at === entries.length - 1
    if (entry['event'] === 'step') return `${isLast ? '└' : '├'} step ${String(entry['step'])}  ${stepText(entry)}\n`
    if (FAULTS.has(String(entry['event']))) return `${isLast ? '└' : '│'} ! ${faultText(entry)}\n`
    return `${isLast ? '└' : '│'}   ${callText(entry)}\n`
  })
  return `${head.filter((text) => text !== '').join('  ')}\n${lines.join('')}`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function stepText(step: Entry): string {
  const calls = Number(step['calls'])
  const action = calls === 0 ? 'answer' : `${calls} call${calls === 1 ? '' : 's'}`
  return [action, tokensOf(step)].filter((part) => part !== undefined).join('  ')
}

function callText(call: Entry): string {
  const outcome = call['ok'] === true ? `${String(call['bytes'])} characters` : `failed (${codeOf(call)})`
  return `${String(call['tool'])}  ${String(call['durationMs'])} ms  ${outcome}`
}

/** Formats a fault: what failed, how, after how many attempts and how long, and the detail for operators. */
function faultText({ event, tool, model, code, status, attempts, durationMs, detail }: Entry): string {
  const what = [tool, model, event].map(textOf).find((text) => text !== '') ?? ''
  const how = event === 'model.retried' ? 'failed and is asked again' : 'failed'
  const parts = [
    code === undefined
      ? ''
      : `${how} (${[code, status]
          .flatMap((part) => (part === undefined ? [] : [JSON.stringify(part)]))
          .join(' ')
          .replaceAll('"', '')})`,
    Number(attempts) > 1 ? `${String(attempts)} attempts` : '',
    typeof durationMs === 'number' ? `${durationMs} ms` : '',
    textOf(detail),
  ]
  return [what, ...parts].filter((part) => part !== '').join('  ')
}

function codeOf({ code, finish }: Entry): string {
  return [code, finish, 'no code'].find((text) => typeof text === 'string') ?? ''
}

function tokensOf({ usage }: Entry): string | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens = 0, outputTokens = 0 } = usage
  return `${String(inputTokens)}+${String(outputTokens)} tokens`
}
