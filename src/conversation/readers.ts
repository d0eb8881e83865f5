const HEARTBEAT_MS = 15_000
/** Bytes that may wait for a reader who does not read; then the stream is closed, and the reader may come again. */
const MOST_QUEUED = 256 * 1024

const encoder = new TextEncoder()
const HEARTBEAT = encoder.encode(': alive\n\n')

interface Reader {
  readonly run: string
  readonly controller: ReadableByteStreamController
  readonly heartbeat: ReturnType<typeof setInterval>
}

/** Those who read along. None of them slows a run: a frame is queued, and who does not read loses the stream. */
export class Readers {
  readonly #readers = new Set<Reader>()

  /** A stream that begins with these frames, and goes on with what comes unless `closed`. */
  open(run: string, frames: string, closed: boolean): ReadableStream<Uint8Array> {
    let reader: Reader | undefined
    return new ReadableStream({
      type: 'bytes',
      start: (controller) => {
        if (frames !== '') controller.enqueue(encoder.encode(frames))
        if (closed) return controller.close()
        const heartbeat = setInterval(() => reader && this.#send(reader, HEARTBEAT.slice()), HEARTBEAT_MS)
        reader = { run, controller, heartbeat }
        this.#readers.add(reader)
      },
      cancel: () => {
        if (reader) this.#drop(reader)
      },
    })
  }

  /** Hands frames to the readers of a run. */
  push(run: string, frames: string): void {
    if (this.#readers.size === 0) return
    const bytes = encoder.encode(frames)
    // A byte stream takes its chunk over: each reader gets a copy of its own.
    for (const reader of this.#readers) if (reader.run === run) this.#send(reader, bytes.slice())
  }

  /** Ends the streams of a run: it has ended, or waits for others. */
  close(run: string): void {
    for (const reader of this.#readers) {
      if (reader.run !== run) continue
      this.#drop(reader)
      reader.controller.close()
    }
  }

  #send(reader: Reader, bytes: Uint8Array): void {
    if ((reader.controller.desiredSize ?? 0) < -MOST_QUEUED) {
      this.#drop(reader)
      reader.controller.error(new Error('reader too slow; read on from the last event id'))
      return
    }
    reader.controller.enqueue(bytes)
  }

  #drop(reader: Reader): void {
    clearInterval(reader.heartbeat)
    this.#readers.delete(reader)
  }
}
