import { contentText, type Message, type ToolCall, type ToolMessage } from '../../contract/message.ts'
import { briefArguments, briefOutcome, callLine, callsId, excerpt, MOST_ARGUMENTS, summaryOf } from '../effects.ts'
import { textTokens } from './tokens.ts'

/** How the line of a call begins, and that of a call which a program or an agent made. */
export const CALL = 'called '
export const INNER_CALL = 'made '

/** The most characters of what was asked or answered, in the line of a turn, and in full notes. */
const MOST_TEXT = 200
const MOST_FULL_TEXT = 1000
/** The most characters of the arguments of a call in full notes. */
const MOST_FULL_ARGUMENTS = 1500
/** The most characters of the calls that a call made, in the line of a turn. */
const MOST_MADE = 700

/** What notes tell of a turn. */
type Entry =
  | { readonly is: 'user' | 'answer'; readonly text: string }
  | { readonly is: 'call'; readonly call: ToolCall; readonly result: ToolMessage | undefined }
  | { readonly is: 'reads'; readonly tool: string; readonly times: number }

/** Yields what was asked, each call that may have taken effect, what was answered, and how often other tools were called. */
function* entriesOf(messages: readonly Message[], isReadOnly: (tool: string) => boolean): Generator<Entry> {
  const results = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.callId, each] as const] : [])))
  const reads = new Map<string, number>()
  for (const message of messages) {
    if (message.role === 'user') yield { is: 'user', text: contentText(message.content) }
    if (message.role !== 'assistant') continue
    for (const call of message.calls ?? []) {
      const result = results.get(call.callId)
      if (isReadOnly(call.tool) && !result?.calls) reads.set(call.tool, (reads.get(call.tool) ?? 0) + 1)
      else yield { is: 'call', call, result }
    }
    if (message.content !== '') yield { is: 'answer', text: message.content }
  }
  for (const [tool, times] of reads) yield { is: 'reads', tool, times }
}

/**
 * Returns a turn, or a part of one, as one line of notes: what was asked, each call that may have taken effect with its
 * arguments and outcome, and what was answered. Calls of tools that only read are counted, and so are the first calls of a
 * line that would have more than so many tokens.
 */
export function lineOfTurn(
  messages: readonly Message[],
  isReadOnly: (tool: string) => boolean,
  tokens = Infinity,
): string {
  const entries = [...entriesOf(messages, isReadOnly)]
  const parts = entries.map((entry) => {
    if (entry.is === 'reads') return readsLine(entry)
    if (entry.is !== 'call') return `${entry.is}: ${excerpt(entry.text, MOST_TEXT)}`
    return `${lineOfCall(entry, MOST_ARGUMENTS)}${briefCalls(entry.result)}`
  })
  let room = tokens
  const start = tokens === Infinity ? 0 : parts.findLastIndex((part) => (room -= textTokens(part)) < 0) + 1
  const counted = entries
    .slice(0, start)
    .flatMap((entry) => (entry.is === 'call' ? [{ tool: entry.call.tool, arguments: '', outcome: '' }] : []))
  const first = counted.length > 0 ? [`${CALL}${summaryOf(counted)} before`] : []
  return `- ${[...first, ...parts.slice(start)].join('; ')}`
}

/**
 * Returns the same in full, as it is put aside: a line for each call, with more of its arguments, and for each that a
 * program or an agent made. The first line alone begins with a dash.
 */
export function linesOfTurn(messages: readonly Message[], isReadOnly: (tool: string) => boolean): string[] {
  const lines = [...entriesOf(messages, isReadOnly)].flatMap((entry) => {
    if (entry.is === 'reads') return [readsLine(entry)]
    if (entry.is !== 'call') return [`${entry.is}: ${excerpt(entry.text, MOST_FULL_TEXT)}`]
    const inner = entry.result?.calls?.map((call) => `${INNER_CALL}${callLine(call)}`) ?? []
    return [lineOfCall(entry, MOST_FULL_ARGUMENTS), ...inner]
  })
  return lines.map((line, index) => `${index === 0 ? '- ' : '  '}${line}`)
}

function readsLine({ tool, times }: Extract<Entry, { is: 'reads' }>): string {
  return `read with ${tool}${times > 1 ? ` ${times} times` : ''}`
}

function lineOfCall({ call, result }: Extract<Entry, { is: 'call' }>, most: number): string {
  const { callId, tool, arguments: text } = call
  const outcome = result
    ? briefOutcome({ text: contentText(result.content), ok: result.ok, isUntrusted: isUntrusted(result) })
    : 'outcome unknown'
  const changed = result?.sentArguments === undefined ? '' : ' as a person changed it'
  return `${CALL}${tool}(${briefArguments(result?.sentArguments ?? text, most)})${changed} → ${outcome} [${callId}]`
}

/** Returns the first calls that a call made, and how to read all of them. */
function briefCalls(result: ToolMessage | undefined): string {
  const { calls = [], callId = '' } = result ?? {}
  if (calls.length === 0) return ''
  const lines = calls.map(callLine)
  let size = 0
  const end = lines.findIndex((line) => (size += line.length) > MOST_MADE)
  if (end < 0 && !isUntrusted(result)) return `, which made ${lines.join(', ')}`
  const count = isUntrusted(result) ? 0 : end
  const some = count > 0 ? `${lines.slice(0, count).join(', ')}, and ` : ''
  return `, which made ${some}${summaryOf(calls.slice(count))} [${callsId(callId)}]`
}

/** Whether others wrote what a result says, and with it what a program did. */
function isUntrusted(result: ToolMessage | undefined): boolean {
  return result?.marks?.includes('untrusted') === true
}
