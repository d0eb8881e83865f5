import { isObject } from '../../contract/json.ts'

type Entry = Readonly<Record<string, unknown>>

/** Prints the lines of a running edge: of each run one tree, of everything else the line as it is. */
export function runLog(write: (text: string) => void): (line: string) => void {
  /** The steps and calls of the runs under way, by run id. */
  const entriesByRun = new Map<string, Entry[]>()
  return (line) => {
    const entry = readEntry(line)
    if (!entry) return REQUEST.test(line) ? undefined : write(`${line}\n`)
    const id = String(entry['runId'])
    const entries = entriesByRun.get(id) ?? []
    if (entry['event'] !== 'run') entriesByRun.set(id, [...entries, entry])
    else {
      entriesByRun.delete(id)
      write(treeOf(entry, entries))
    }
  }
}

/** wrangler's own line of a request: the tree of its run says more. */
const REQUEST = /^\[wrangler:info\] [A-Z]+ \//

/** Reads a line of `LOG=runs`, before which wrangler writes the name of the Worker. */
function readEntry(line: string): Entry | undefined {
  const text = line.replace(/^\[[\w-]+\] /, '')
  if (!text.startsWith('{"event":')) return undefined
  try {
    const entry: unknown = JSON.parse(text)
    const isOfRun = isObject(entry) && ['step', 'call', 'run'].includes(String(entry['event'])) && 'runId' in entry
    return isOfRun ? entry : undefined
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

function codeOf({ code, finish }: Entry): string {
  return [code, finish, 'no code'].find((text) => typeof text === 'string') ?? ''
}

function tokensOf({ usage }: Entry): string | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens = 0, outputTokens = 0 } = usage
  return `${String(inputTokens)}+${String(outputTokens)} tokens`
}
