const HEARTBEAT_MS = 15_000
/** How long a reader may leave its queue full before its stream is ended; it may come again and read on. */
const MOST_STALL_MS = 30_000
/** Bytes that are fetched for a reader ahead of its reading, and those that may wait for it at the most. */
const AHEAD = 64 * 1024
const MOST_QUEUED = 256 * 1024

const encoder = new TextEncoder()
const HEARTBEAT = encoder.encode(': alive\n\n')

/** Where a reader who is behind reads on. */
export interface FrameSource {
  /** The next frames after a number, a portion of them, and the number of the last; no frames where there are no more. */
  readonly read: (after: number) => { readonly frames: string; readonly last: number }
}

interface Reader {
  readonly run: string
  readonly source: FrameSource
  readonly controller: ReadableByteStreamController
  readonly heartbeat: ReturnType<typeof setInterval>
  /** The number of the last frame that was queued. */
  cursor: number
  /** Frames are queued as they come; a reader who is behind takes them from the source instead. */
  live: boolean
  ended: boolean
  /** When it last took something, in epoch milliseconds. */
  readAt: number
}

/**
 * Those who read along. None of them slows a run or fills memory: who reads more slowly than the run speaks falls
 * behind, and reads on from the journal when there is room again.
 */
export class Readers {
  readonly #readers = new Set<Reader>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** The frames of a run after a number: those that were, then those that come unless `ended`. */
  open(
    run: string,
    source: FrameSource,
    { after, ended }: { after: number; ended: boolean },
  ): ReadableStream<Uint8Array> {
    let reader: Reader | undefined
    return new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          const heartbeat = setInterval(() => reader && this.#beat(reader), HEARTBEAT_MS)
          reader = { run, source, controller, heartbeat, cursor: after, live: false, ended, readAt: this.#now() }
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

  /** Hands frames to the readers of a run; `last` is the number of the last of them. */
  push(run: string, frames: string, last: number): void {
    if (this.#readers.size === 0) return
    const bytes = encoder.encode(frames)
    for (const reader of this.#readers) {
      if (reader.run !== run || !reader.live) continue
      if ((reader.controller.desiredSize ?? 0) < AHEAD - MOST_QUEUED) {
        reader.live = false
        continue
      }
      reader.cursor = last
      // A byte stream takes its chunk over: each reader gets a copy of its own.
      reader.controller.enqueue(bytes.slice())
    }
  }

  /** Ends the streams of a run that has ended, or waits for others, once each reader has read all of it. */
  close(run: string): void {
    for (const reader of this.#readers) {
      if (reader.run !== run) continue
      reader.ended = true
      if (reader.live) this.#finish(reader)
    }
  }

  /** Ends all streams: what they tell of is gone. */
  end(): void {
    for (const reader of this.#readers) this.#finish(reader)
  }

  #refill(reader: Reader): void {
    reader.readAt = this.#now()
    if (reader.live) return
    const { frames, last } = reader.source.read(reader.cursor)
    if (frames !== '') {
      reader.cursor = last
      reader.controller.enqueue(encoder.encode(frames))
      return
    }
    reader.live = true
    if (reader.ended) this.#finish(reader)
  }

  #beat(reader: Reader): void {
    if (reader.live) return reader.controller.enqueue(HEARTBEAT.slice())
    if (this.#now() - reader.readAt < MOST_STALL_MS) return
    this.#drop(reader)
    reader.controller.error(new Error('The reader stopped reading; read on from the last event id.'))
  }

  #finish(reader: Reader): void {
    this.#drop(reader)
    reader.controller.close()
  }

  #drop(reader: Reader): void {
    clearInterval(reader.heartbeat)
    this.#readers.delete(reader)
  }
}
