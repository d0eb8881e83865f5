/**
 * The trace that a run belongs to, in the terms of W3C Trace Context (https://www.w3.org/TR/trace-context/). Plain data:
 * it is stored with the run, so that an instance that resumes the run continues the same trace.
 */
export interface TraceContext {
  /** 32 hex digits. */
  readonly id: string
  /** The span of the caller, 16 hex digits. Absent if the run begins the trace. */
  readonly parent?: string
  readonly isSampled: boolean
  /** Whether the edge makes spans of the run. If not, the caller's context is passed on unchanged. */
  readonly hasSpans: boolean
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/

/**
 * Returns the trace of a run: the one that its caller names in a `traceparent` header, or else a new one if the edge makes
 * spans. A header that is not valid is ignored, as the specification demands.
 */
export function traceOf(header: string | null, runId: string, hasSpans: boolean): TraceContext | undefined {
  const [, id, parent, flags = ''] = TRACEPARENT.exec(header ?? '') ?? []
  if (id !== undefined && parent !== undefined) {
    return { id, parent, isSampled: Number.parseInt(flags, 16) % 2 === 1, hasSpans }
  }
  return hasSpans ? { id: hexOf(runId, 128), isSampled: true, hasSpans } : undefined
}

/** Returns the id of the span of a run, of one of its steps or of one of its calls: always the same for the same part. */
export function spanIdOf(runId: string, part = ''): string {
  return hexOf(`${runId}/${part}`, 64)
}

/** The part of a run that asks the model, for `spanIdOf`. Each attempt at a step is a span of its own. */
export function chatPart(step: number, attempt: number): string {
  return `${step}/${attempt}`
}

/** The part of a run that is one attempt at a call, for `spanIdOf`. */
export function callPart(callId: string, attempt: number): string {
  return `${callId}/${attempt}`
}

/** Returns the `traceparent` for a request that a part of a run makes; undefined if the run belongs to no trace. */
export function traceparentOf(
  { trace, runId }: { readonly trace?: TraceContext | undefined; readonly runId: string },
  part: string,
): string | undefined {
  if (!trace) return undefined
  const { id, parent, isSampled, hasSpans } = trace
  const span = hasSpans ? spanIdOf(runId, part) : (parent ?? spanIdOf(runId, part))
  return `00-${id}-${span}-${isSampled ? '01' : '00'}`
}

/** Returns so many bits of a text as hex digits. Run ids are random, so ids made from them do not collide. */
function hexOf(text: string, bits: number): string {
  let id = 0n
  for (const char of text) id = BigInt.asUintN(bits, id * 0x100000001b3n + BigInt(char.charCodeAt(0)))
  return id.toString(16).padStart(bits / 4, '0')
}
