/**
 * What has happened since the question: the calls that were made and their results, and the time if one of them, or a
 * user, told it.
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

/** The calls of these messages that have their result. */
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

/** What stands in a result that is marked as data. */
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

/** The time that a result told. */
export function timeIn(told: readonly Done[]): Moment | undefined {
  return told.flatMap(({ ok, text, arguments: values }) => {
    const [zone] = Object.values(values).map(String)
    return (ok && readMoment(text, zone && (zoneOf(zone) ?? zone))) || []
  })[0]
}

/** The time that a user told: “it is now 2026-11-20T14:05Z”. */
export function timeSaid(said: readonly string[]): Moment | undefined {
  return readMoment(said.findLast((text) => /\bnow\b|现在/i.test(text) && /T\d\d:\d\d/.test(text)) ?? '')
}

export function isSame(a: PlannedCall, b: PlannedCall): boolean {
  return a.tool === b.tool && canonicalJson(a.arguments) === canonicalJson(b.arguments)
}
