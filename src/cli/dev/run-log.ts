import { isObject } from '../../contract/json.ts'
import { parentOfCall } from '../../contract/id.ts'
import type { WaitCause } from '../../contract/run.ts'

type Entry = Readonly<Record<string, unknown>>

/**
 * Prints the lines of a running edge: each run as one tree with its faults when it ends, waits or is parked, each other
 * entry of the log as one line of words, and everything else as it is. `hasRuns`: whether the edge logs runs; if not,
 * each fault of a run is a tree of its own. Default: yes.
 */
export function runLog(write: (text: string) => void, hasRuns = true): (line: string) => void {
  /** The steps, calls and faults of the runs under way, by run id. */
  const entriesByRun = new Map<string, Entry[]>()
  let isAfterEntry = false
  return (line) => {
    // wrangler adds empty lines to those of `console.error`.
    if (isAfterEntry && line.trim() === '') return
    const entry = readEntry(line)
    isAfterEntry = entry !== undefined
    if (!entry) return REQUEST.test(line) ? undefined : write(`${line}\n`)
    const event = String(entry['event'])
    const isOfRun = 'runId' in entry && (OUTLINE_EVENTS.has(event) || FAULTS.has(event))
    if (!isOfRun) return write(`! ${memberText(entry)}\n`)
    const id = String(entry['runId'])
    if (!hasRuns && FAULTS.has(event)) return write(`${id}\n└ ${indented(faultText(entry), ' ')}\n`)
    const entries = entriesByRun.get(id) ?? []
    if (event === 'run') entriesByRun.delete(id)
    else if (event !== 'run.waiting') entriesByRun.set(id, [...entries, entry])
    // The tree of a run that waits is printed again, with what follows, when it ends.
    if (HEADS.has(event)) write(treeOf(entry, entriesByRun.get(id) ?? entries))
  }
}

/** What a call waits for, by the event with which it begins to wait. */
const WAITS: Readonly<Record<string, string>> = {
  'approval.requested': 'waits for approval',
  'call.requested': 'waits for its caller',
  'call.deferred': 'is answered later',
  'call.suspended': 'waits for its calls',
}
const HEADS = new Set(['run', 'run.waiting', 'run.parked'])
const OUTLINE_EVENTS = new Set(['step', 'call', 'call.judged', 'run', 'run.waiting', ...Object.keys(WAITS)])
const FAULTS = new Set(['call.failed', 'model.failed', 'model.retried', 'run.interrupted', 'run.parked'])

/** wrangler's own line of a request: the tree of its run says more. */
const REQUEST = /^\[wrangler:info\] [A-Z]+ \//

/** Reads an entry of the log, before which wrangler writes the name of the Worker, or that it is an error. */
function readEntry(line: string): Entry | undefined {
  const text = line.replace(/^(?:✘ )?\[[\w-]+\] /, '')
  if (!text.startsWith('{"event":')) return undefined
  try {
    const entry: unknown = JSON.parse(text)
    return isObject(entry) ? entry : undefined
  } catch {
    return undefined
  }
}

/** Returns the call whose program made the call of an entry. */
function parentOf({ callId }: Entry): string | undefined {
  return parentOfCall(textOf(callId))
}

/** Puts what the calls of a program have left behind its own entry, the last one if it has several. */
function inTree(entries: readonly Entry[]): readonly Entry[] {
  const ends = new Map(entries.flatMap((entry) => ('tool' in entry ? [[textOf(entry['callId']), entry]] : [])))
  const isNested = (entry: Entry) => {
    const parent = parentOf(entry)
    return parent !== undefined && ends.has(parent)
  }
  return entries
    .filter((entry) => !isNested(entry))
    .flatMap((entry) => {
      const id = textOf(entry['callId'])
      return ends.get(id) === entry ? [entry, ...entries.filter((each) => parentOf(each) === id)] : [entry]
    })
}

/** Formats a run: its status, and below it its steps with their calls. */
function treeOf(run: Entry, untidy: readonly Entry[]): string {
  const entries = inTree(untidy)
  const head = [run['runId'], statusText(run), run['model'], tokensOf(run), run['conversation']].map(textOf)
  const lines = entries.map((entry, at) => {
    const isLast = at === entries.length - 1
    const event = String(entry['event'])
    if (event === 'step') return `${isLast ? '└' : '├'} step ${String(entry['step'])}  ${stepText(entry)}\n`
    const text = FAULTS.has(event) ? `! ${faultText(entry)}` : `  ${callText(entry)}`
    const depth = parentOf(entry) === undefined ? '' : '  '
    return `${isLast ? '└' : '│'} ${depth}${indented(text, isLast ? ' ' : '│')}\n`
  })
  return `${head.filter((text) => text !== '').join('  ')}\n${lines.join('')}`
}

/** Indents the further lines of a text, such as a stack, below a rail of the tree. */
function indented(text: string, rail: string): string {
  return text.replaceAll('\n', `\n${rail}     `)
}

/** What a run waits for, in words. */
const CAUSES: Readonly<Record<string, string>> = {
  approval: 'approval',
  caller: 'its caller',
  agent: 'an agent',
  tool: 'a tool',
} satisfies Record<WaitCause, string>

function statusText(run: Entry): string {
  if (run['event'] === 'run.parked') return 'parked'
  if (run['event'] === 'run.waiting') return `waits for ${CAUSES[textOf(run['for'])] ?? 'others'}`
  const status = String(run['status'])
  if (run['which'] !== undefined) return `${status} (limit ${textOf(run['which'])})`
  return status === 'completed' ? status : `${status} (${codeOf(run)})`
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
  const wait = WAITS[String(call['event'])]
  if (wait !== undefined) return `${String(call['tool'])}  ${wait}`
  if (call['event'] === 'call.judged') return `${String(call['tool'])}  ${judgementText(call)}`
  const outcome = call['ok'] === true ? `${String(call['bytes'])} characters` : `failed (${codeOf(call)})`
  return `${String(call['tool'])}  ${String(call['durationMs'])} ms  ${outcome}`
}

/** Words what a decision model has said about a call or its result, and what follows. */
function judgementText({ about, ok, answer, probabilities, code }: Entry): string {
  const [yes, no] = about === 'result' ? ['is read', 'is withheld'] : ['goes ahead', 'needs a person']
  const share = isObject(probabilities) ? Number(probabilities[textOf(answer)]) : NaN
  const verdict = typeof answer === 'string' ? `${answer} ${(share * 100).toFixed(0)} %` : `no answer (${textOf(code)})`
  return `${ok === true ? yes : no}: ${verdict}`
}

/** Formats an entry of no run: its event, its members by their names, and the detail at the end. */
function memberText({ event, detail, ...members }: Entry): string {
  const facts = Object.entries(members).map(([name, value]) => `${name} ${plainText(value)}`)
  const parts = [String(event), ...facts, ...(detail === undefined ? [] : [plainText(detail)])]
  return indented(parts.join('  '), ' ')
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
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
