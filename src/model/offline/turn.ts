/**
 * Reads what has happened since the question: the calls with their results, and the present time if a result or a user
 * has told it.
 */
import { canonicalJson, isObject } from '../../contract/json.ts'
import { type Message, textOf } from '../../contract/message.ts'
import { type Moment, readMoment } from './moment.ts'
import { zoneOf } from './place.ts'

export interface PlannedCall {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** A call and its result. */
export interface Done extends PlannedCall {
  readonly ok: boolean
  readonly text: string
}

/** Returns the calls of these messages that have a result. */
export function doneIn(turn: readonly Message[]): readonly Done[] {
  const calls = turn.flatMap((message) => (message.role === 'assistant' ? (message.calls ?? []) : []))
  return turn.flatMap((message) => {
    if (message.role !== 'tool') return []
    const call = calls.find(({ callId }) => callId === message.callId)
    return {
      tool: message.tool,
      arguments: parseObject(call?.arguments ?? ''),
      ok: message.ok,
      text: dataOf(textOf(message.content)),
    }
  })
}

/** Unwraps the text of a result that the loop has marked as untrusted data. */
function dataOf(text: string): string {
  const { note, data } = parseObject(text)
  return typeof note === 'string' && typeof data === 'string' ? data : text
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Returns the time that one of the results tells. */
export function timeIn(told: readonly Done[]): Moment | undefined {
  return told.flatMap(({ ok, text, arguments: values }) => {
    const [zone] = Object.values(values).map(String)
    return (ok && readMoment(text, zone && (zoneOf(zone) ?? zone))) || []
  })[0]
}

/** Returns the time that a user has told, as in “it is now 2026-11-20T14:05Z”. */
export function timeSaid(said: readonly string[]): Moment | undefined {
  return readMoment(said.findLast((text) => /\bnow\b|现在/i.test(text) && /T\d\d:\d\d/.test(text)) ?? '')
}

export function isSame(a: PlannedCall, b: PlannedCall): boolean {
  return a.tool === b.tool && canonicalJson(a.arguments) === canonicalJson(b.arguments)
}
