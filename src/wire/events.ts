import type { RunEvent, RunEventBody } from '../contract/event.ts'
import { isObject, parseJson } from '../contract/json.ts'
import { readSse } from './sse.ts'

const TYPES = {
  'run.started': true,
  'run.snapshot': true,
  'input.added': true,
  'tools.added': true,
  'history.repaired': true,
  'history.compacted': true,
  'step.started': true,
  'step.answered': true,
  'answer.rejected': true,
  'answer.cut': true,
  'step.finished': true,
  'step.restarted': true,
  'approval.requested': true,
  'approval.decided': true,
  'call.requested': true,
  'call.started': true,
  'call.interrupted': true,
  'call.settled': true,
  'call.undone': true,
  'call.delta': true,
  'call.proposed': true,
  'call.progress': true,
  'limit.reached': true,
  'run.waiting': true,
  'run.resumed': true,
  'run.cancelling': true,
  'run.finished': true,
  'reasoning.delta': true,
  'text.delta': true,
} satisfies Record<RunEventBody['type'], true>

/** An event of a run as one line of JSON that begins with its type: what a journal keeps and a stream sends. */
export function encodeLine(event: RunEvent): string {
  const line = JSON.stringify(event)
  if (line.startsWith('{"type":')) return line
  const { type, ...rest } = event
  return JSON.stringify({ type, ...rest })
}

/** The type of a line that `encodeLine` made, as its first member says it; '' for a line without. */
export function typeOfLine(line: string): string {
  return line.split('"', 4)[3] ?? ''
}

/** The SSE text of a line that is at hand. `id` is `<run>.<seq>`. */
export function frameOfLine(type: string, id: string, line: string): string {
  return `event: ${type}\nid: ${id}\ndata: ${line}\n\n`
}

/** An event of a run as native SSE text. */
export function encodeEvent(event: RunEvent): string {
  return frameOfLine(event.type, eventId(event.runId, event.seq), encodeLine(event))
}

/** The event of a line that `encodeLine` made; undefined for one of a type that this edge does not know, or for none. */
export function decodeLine(line: string): RunEvent | undefined {
  const event = parseJson(line)
  return isRunEvent(event) ? event : undefined
}

/** The events of a native stream, in order. Throws what the body throws. */
export async function* decodeEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<RunEvent, void> {
  for await (const frames of readSse(body)) {
    for (const frame of frames) {
      const event = decodeLine(frame.data)
      if (event) yield event
    }
  }
}

export function eventId(runId: string, seq: number): string {
  return `${runId}.${seq}`
}

/** The run and place that an event id names, or undefined for a text that is no event id. */
export function parseEventId(id: string): { readonly runId: string; readonly seq: number } | undefined {
  const [, runId = '', seq] = /^([\w-]{1,64})\.(\d{1,15})$/.exec(id) ?? []
  return seq ? { runId, seq: Number(seq) } : undefined
}

/** The fields of each type are trusted: lines come from an edge, not from a caller. */
function isRunEvent(value: unknown): value is RunEvent {
  return (
    isObject(value) &&
    typeof value.type === 'string' &&
    Object.hasOwn(TYPES, value.type) &&
    typeof value.runId === 'string' &&
    typeof value.seq === 'number'
  )
}
