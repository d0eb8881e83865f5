import { isNewsType, type RunEvent, type RunEventBody } from '../contract/event.ts'
import { isObject, parseJson } from '../contract/json.ts'
import { readSse } from './sse.ts'

const TYPES = {
  'run.started': true,
  'input.added': true,
  'tools.added': true,
  'history.repaired': true,
  'history.compacted': true,
  'context.reduced': true,
  'step.started': true,
  'step.answered': true,
  'model.retried': true,
  'model.waiting': true,
  'provider.call': true,
  'answer.rejected': true,
  'answer.cut': true,
  'step.finished': true,
  'step.restarted': true,
  'approval.requested': true,
  'approval.decided': true,
  'call.judged': true,
  'call.requested': true,
  'call.started': true,
  'call.interrupted': true,
  'call.deferred': true,
  'call.reported': true,
  'call.issued': true,
  'call.suspended': true,
  'program.woken': true,
  'program.diverged': true,
  'call.settled': true,
  'call.undone': true,
  'call.late': true,
  'call.delta': true,
  'call.proposed': true,
  'call.progress': true,
  'limit.reached': true,
  'run.waiting': true,
  'run.resumed': true,
  'run.cancelling': true,
  'run.parked': true,
  'run.retried': true,
  'run.finished': true,
  'reasoning.delta': true,
  'text.delta': true,
} satisfies Record<RunEventBody['type'], true>

/** Encodes an event of a run as one line of JSON that begins with its type, for journals and streams. */
export function encodeLine(event: RunEvent): string {
  const line = JSON.stringify(event)
  if (line.startsWith('{"type":')) return line
  const { type, ...rest } = event
  return JSON.stringify({ type, ...rest })
}

/** Returns the type of a line that `encodeLine` made, which is its first member; '' for a line without one. */
export function typeOfLine(line: string): string {
  return line.split('"', 4)[3] ?? ''
}

/** Returns the SSE text of an encoded line. `id` is `<run>.<seq>`. */
export function frameOfLine(type: string, id: string, line: string): string {
  return `event: ${type}\nid: ${id}\ndata: ${line}\n\n`
}

/** Encodes an event of a run as native SSE text. */
export function encodeEvent(event: RunEvent): string {
  return frameOfLine(event.type, eventId(event.runId, event.seq), encodeLine(event))
}

/**
 * Returns the type of a line if its event is a fact that this version does not know, which a newer edge has written.
 */
export function unknownFact(line: string): string | undefined {
  const [, type = ''] = /^\{"type":"([a-z]+\.[a-z_]+)",/.exec(line) ?? []
  const isUnknown = type !== '' && !Object.hasOwn(TYPES, type) && !isNewsType(type)
  return isUnknown && parseJson(line) !== undefined ? type : undefined
}

/**
 * Parses a line that `encodeLine` made. Undefined for an event of an unknown type, or for a text that is not an event.
 */
export function decodeLine(line: string): RunEvent | undefined {
  const event = parseJson(line)
  return isRunEvent(event) ? event : undefined
}

/** Yields the events of a native stream, in order. Throws what the body throws. */
export async function* decodeEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<RunEvent, void> {
  for await (const events of decodeBatches(body)) yield* events
}

/**
 * Yields the events of a native stream in batches, one for each read, which costs less. Throws what the body throws.
 */
export async function* decodeBatches(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly RunEvent[], void> {
  for await (const frames of readSse(body)) yield frames.flatMap((frame) => decodeLine(frame.data) ?? [])
}

export function eventId(runId: string, seq: number): string {
  return `${runId}.${seq}`
}

/** Returns the run and the number of an event from its id, or undefined for a text that is not an event id. */
export function parseEventId(id: string): { readonly runId: string; readonly seq: number } | undefined {
  const [, runId = '', seq] = /^([\w-]{1,64})\.(\d{1,15})$/.exec(id) ?? []
  return seq ? { runId, seq: Number(seq) } : undefined
}

/** Returns whether a value is an event. The fields are not checked: lines come from an edge, never from a caller. */
function isRunEvent(value: unknown): value is RunEvent {
  return (
    isObject(value) &&
    typeof value.type === 'string' &&
    Object.hasOwn(TYPES, value.type) &&
    typeof value.runId === 'string' &&
    typeof value.seq === 'number'
  )
}

/** Caches what `encode` returns for each object while the object lives, so that a step encodes only what it added. */
export function encodeOnce<Value extends object, Encoded = string>(
  encode: (value: Value) => Encoded,
): (value: Value) => Encoded {
  const cache = new WeakMap<Value, { readonly text: Encoded }>()
  return (value) => {
    let entry = cache.get(value)
    if (!entry) cache.set(value, (entry = { text: encode(value) }))
    return entry.text
  }
}

/**
 * Makes an encoder for lists that grow, such as the messages of a run: it encodes only the items that the last list
 * with the same first item did not have. It caches one text for each list; `encodeOnce` caches one for each item, which
 * costs more than encoding a short item. The encoder returns the JSON of what `toObject` makes of the items, without
 * brackets.
 */
export function encodeGrowing<Item extends object>(
  toObject: (item: Item) => object,
): (items: readonly Item[]) => string {
  const cache = new WeakMap<Item, { readonly items: readonly Item[]; readonly text: string }>()
  const encode = (items: readonly Item[]) => JSON.stringify(items.map(toObject)).slice(1, -1)
  return (items) => {
    const [first] = items
    if (!first) return ''
    const entry = cache.get(first)
    const prefix = entry?.items.every((item, at) => item === items[at]) ? entry : undefined
    if (prefix?.items.length === items.length) return prefix.text
    const text = prefix ? `${prefix.text},${encode(items.slice(prefix.items.length))}` : encode(items)
    cache.set(first, { items, text })
    return text
  }
}
