import type { NewsFilter } from '../../contract/conversation.ts'
import type { RunNews } from '../../contract/event.ts'
import { burst, HEARTBEAT_MS } from '../../wire/sse.ts'

/** How long a reader who is behind may read nothing before its stream fails. It may reconnect and read on. */
const MOST_STALL_MS = 30_000
/** How many bytes are fetched for a reader ahead of its reading. */
const AHEAD = 64 * 1024
/** The most bytes in the queue of a reader; above that the reader falls behind. */
const MOST_QUEUED_BYTES = 256 * 1024
/** How many characters of frames are collected for a reader who wants them at the end. */
const MOST_COLLECTED = 32 * 1024

const encoder = new TextEncoder()
const HEARTBEAT = encoder.encode(': alive\n\n')

/** Where a reader who is behind gets its frames from. */
export interface FrameSource {
  /** Returns the next frames after a number, a portion of them; `frames` is '' if there are no more. */
  readonly read: (after: number) => { readonly frames: string; readonly last: number }
}

export interface ReaderOptions {
  readonly after: number
  /** Whether the run has no events after that number yet. */
  readonly isCurrent: boolean
  readonly isEnded: boolean
  readonly news?: NewsFilter | undefined
  /** Whether the stream stays open while the run waits for others. Default: no. */
  readonly waits?: boolean | undefined
}

interface Reader {
  readonly run: string
  readonly source: FrameSource
  readonly controller: ReadableByteStreamController
  readonly heartbeat: ReturnType<typeof setInterval>
  readonly news: NewsFilter
  readonly waits: boolean
  /** Queues the pending frames as one chunk, once the burst is over that they came in. */
  readonly flushSoon: () => void
  /** Frames that are not queued yet. */
  pending: string
  /** The event number of the last frame that is queued or pending. */
  cursor: number
  /** Whether frames are queued as they arrive. Otherwise the reader is behind, and gets them from the source. */
  live: boolean
  /** Whether the stream ends once the reader has all events. */
  isEnded: boolean
  /** The time at which the stream last asked for more, in epoch milliseconds. */
  readAt: number
}

/**
 * The readers that follow runs. No reader slows a run or fills memory: one that reads more slowly than events arrive
 * falls behind, and continues from the journal when its queue has room again.
 */
export class Readers {
  readonly #readers = new Set<Reader>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /**
   * Streams the frames of a run after a number: past ones, unless `isCurrent`, and, unless `isEnded`, new ones, of news
   * only `news`.
   */
  open(run: string, source: FrameSource, options: ReaderOptions): ReadableStream<Uint8Array> {
    const { after, isCurrent, isEnded, news = 'all', waits = false } = options
    let reader: Reader | undefined
    return new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          const heartbeat = setInterval(() => reader && this.#beat(reader), HEARTBEAT_MS)
          reader = {
            run,
            source,
            controller,
            heartbeat,
            news,
            waits,
            flushSoon: burst(() => reader && this.#flush(reader)),
            pending: '',
            cursor: after,
            live: isCurrent && !isEnded,
            isEnded,
            readAt: this.#now(),
          }
          this.#readers.add(reader)
        },
        pull: () => {
          if (reader) this.#refill(reader)
        },
        cancel: () => {
          if (reader) this.#drop(reader)
        },
      },
      { highWaterMark: AHEAD },
    )
  }

  /**
   * Hands new frames to the readers of a run. `last`: the event number of the last frame. `news`: the type of the event,
   * if it is news.
   */
  push(run: string, frames: string, last: number, news?: RunNews['type']): void {
    for (const reader of this.#readers) {
      if (reader.run !== run || !reader.live) continue
      if ((reader.controller.desiredSize ?? 0) - reader.pending.length < AHEAD - MOST_QUEUED_BYTES) {
        reader.live = false
        continue
      }
      reader.cursor = last
      if (news !== undefined && !isWanted(news, reader.news)) continue
      reader.pending += frames
      if (reader.news !== 'end' || reader.pending.length > MOST_COLLECTED) reader.flushSoon()
    }
  }

  /** Ends the streams of a run, each once its reader has all events so far. `isWaiting`: those that outlast a wait stay open. */
  close(run: string, isWaiting = false): void {
    for (const reader of this.#readers) {
      if (reader.run !== run || (isWaiting && reader.waits)) continue
      reader.isEnded = true
      if (reader.live) this.#finish(reader)
    }
  }

  /** Ends all streams, because the conversation is gone. */
  end(): void {
    for (const reader of this.#readers) this.#finish(reader)
  }

  #flush(reader: Reader): void {
    if (reader.pending === '' || !this.#readers.has(reader)) return
    const bytes = encoder.encode(reader.pending)
    reader.pending = ''
    reader.controller.enqueue(bytes)
  }

  #refill(reader: Reader): void {
    this.#flush(reader)
    reader.readAt = this.#now()
    if (reader.live) return
    const { frames, last } = reader.source.read(reader.cursor)
    if (frames !== '') {
      reader.cursor = last
      reader.controller.enqueue(encoder.encode(frames))
      return
    }
    reader.live = true
    if (reader.isEnded) this.#finish(reader)
  }

  #beat(reader: Reader): void {
    if (reader.live) return reader.controller.enqueue(HEARTBEAT.slice())
    if (this.#now() - reader.readAt < MOST_STALL_MS) return
    this.#drop(reader)
    reader.controller.error(new Error('The reader fell behind; resume from the last event id.'))
  }

  #finish(reader: Reader): void {
    this.#flush(reader)
    this.#drop(reader)
    reader.controller.close()
  }

  #drop(reader: Reader): void {
    clearInterval(reader.heartbeat)
    this.#readers.delete(reader)
  }
}

function isWanted(type: RunNews['type'], news: NewsFilter): boolean {
  return news === 'all' || (news === 'text' && (type === 'text.delta' || type === 'reasoning.delta'))
}
