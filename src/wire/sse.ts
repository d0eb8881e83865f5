/**
 * wire/: pure codecs, each the one owner of its format in both directions. May import contract/. Must never fetch,
 * read env, or know who asks.
 */
import { createParser } from 'eventsource-parser'

/** One event of an event stream. */
export interface SseFrame {
  readonly event?: string | undefined
  readonly id?: string | undefined
  readonly data: string
}

/** Characters of one event; what is longer is no answer but an attack or a fault. */
const MOST_CHARACTERS = 8 * 1024 * 1024

/**
 * The events of a byte stream, those of one read together: an array a read costs less than a promise an event. It is
 * empty where bytes came, such as a comment, but no whole event. How they were cut makes no difference. Throws what the body throws, and an Error for an event of more than
 * 8 Mi characters. The body is cancelled when the reader stops early.
 */
export async function* readSse(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly SseFrame[], void> {
  let frames: SseFrame[] = []
  let tooLong = false
  const parser = createParser({
    maxBufferSize: MOST_CHARACTERS,
    onEvent: (frame) => {
      frames.push(frame)
    },
    onError: (error) => {
      tooLong ||= error.type === 'max-buffer-size-exceeded'
    },
  })
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      // The break at the end lets through an event whose lines are whole, though the empty line after it is missing.
      parser.feed(done ? `${decoder.decode()}\n` : decoder.decode(value, { stream: true }))
      if (tooLong) throw new Error(`An event has more than ${MOST_CHARACTERS} characters`)
      if (!done || frames.length > 0) yield frames
      if (done) return
      frames = []
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

const LINE_BREAK = /\r\n|\r|\n/g

/** An event as text. `event` and `id` hold no line breaks; `data` may. */
export function sseFrame(data: string, { event, id }: { event?: string; id?: string } = {}): string {
  const head = (event === undefined ? '' : `event: ${event}\n`) + (id === undefined ? '' : `id: ${id}\n`)
  return `${head}data: ${data.replace(LINE_BREAK, '\ndata: ')}\n\n`
}

/** A comment, which every reader ignores: a heartbeat. */
export function sseComment(text: string): string {
  return `: ${text.replace(LINE_BREAK, ' ')}\n\n`
}
