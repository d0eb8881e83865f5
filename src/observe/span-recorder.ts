import { spanIdOf, type TraceContext } from '../contract/trace.ts'

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A span in OpenTelemetry's sense. Times are in epoch milliseconds. */
export interface Span {
  readonly name: string
  readonly kind: 'internal' | 'client'
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits, made from the ids of the run and of its part: the same whenever they are made again. */
  readonly spanId: string
  readonly parentId?: string
  readonly start: number
  readonly end: number
  /** The code of the error; absent if there was none. */
  readonly error?: string
  readonly attributes: Attributes
  readonly events?: readonly SpanEvent[]
  /** The span of the same trace that this one continues. */
  readonly continues?: string
}

interface SpanEvent {
  readonly name: string
  readonly at: number
  readonly attributes?: Attributes
}

/** A span that has begun, of one part of the run. */
export interface OpenSpan {
  readonly part: string
  readonly parent: string
  readonly name: string
  readonly kind: Span['kind']
  readonly start: number
  readonly attributes?: Attributes
  /** Attributes that the spans which continue it do not have. */
  readonly content?: Attributes
  readonly continues?: string
}

export interface SpanEnd {
  readonly end: number
  readonly error?: string | undefined
  readonly attributes?: Attributes
}

/**
 * Collects the spans of one run, each once it has ended. When the run begins to wait, all its spans end. When it continues,
 * other spans continue them, each with a link to the one before.
 */
export class SpanRecorder {
  /** Those that have ended since the run last continued. */
  spans: Span[] = []
  readonly #runId: string
  readonly #trace: TraceContext
  readonly #open = new Map<string, OpenSpan & { readonly events: SpanEvent[] }>()
  /** Those to continue when the run continues. */
  #paused: readonly OpenSpan[] = []
  #pauses = 0
  /** The newest spans of parts that have several. */
  readonly #newestIds = new Map<string, string>()

  constructor(runId: string, trace: TraceContext) {
    this.#runId = runId
    this.#trace = trace
  }

  begin(span: OpenSpan): void {
    this.#open.set(span.part, { ...span, events: [] })
  }

  /** Ends the span of a part. Does nothing if it has not begun or has ended. */
  finish(part: string | undefined, { end, error, attributes }: SpanEnd): void {
    const span = part === undefined ? undefined : this.#open.get(part)
    if (!span || part === undefined) return
    this.#open.delete(part)
    const { start, events, name, kind, parent } = span
    const { id: traceId, parent: caller } = this.#trace
    const parentId = part === '' ? caller : this.#idOf(parent)
    const { continues, content } = span
    this.spans.push({
      ...{ name, kind, traceId, spanId: this.#idOf(part), start, end: Math.max(start, end) },
      parentId,
      ...(error !== undefined && { error }),
      attributes: {
        ...{ ...span.attributes, ...content },
        ...(error !== undefined && { 'error.type': error }),
        ...attributes,
      },
      ...(events.length > 0 && { events }),
      continues,
    })
  }

  /** Ends all spans as the run begins to wait, that of the run with these attributes. */
  pause(end: number, attributes: Attributes): void {
    // It waits already, now for something else.
    if (this.#paused.length > 0) this.spans = []
    else this.#paused = Array.from(this.#open.values(), ({ events: _events, content: _content, ...span }) => span)
    for (const { part } of this.#open.values()) if (part !== '') this.finish(part, { end })
    this.finish('', { end, attributes })
  }

  /** Continues the spans of a run that waits. Does nothing if it does not. */
  proceed(start: number): void {
    if (this.#paused.length === 0) return
    this.#pauses += 1
    this.spans = []
    for (const span of this.#paused) {
      const { part } = span
      const continues = this.#idOf(part)
      this.#newestIds.set(part, spanIdOf(this.#runId, `${part}@${this.#pauses}`))
      this.begin({ ...span, start, continues })
    }
    this.#paused = []
  }

  #idOf(part: string): string {
    return this.#newestIds.get(part) ?? spanIdOf(this.#runId, part)
  }

  /** Ends all spans but that of the run. */
  finishAll(end: number, error: string): void {
    for (const part of [...this.#open.keys()]) if (part !== '') this.finish(part, { end, error })
  }

  note(part: string, name: string, at: number, attributes?: Attributes): void {
    this.#open.get(part)?.events.push({ name, at, attributes })
  }

  startOf(part: string): number | undefined {
    return this.#open.get(part)?.start
  }
}
