/** One event of an event stream. */
export interface SseFrame {
  readonly event?: string | undefined
  readonly id?: string | undefined
  readonly data: string
}

/** Encodes a value as an event without a type. Members that are undefined are left out. */
export function encodeData(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

/** How to resume a stream that breaks off, as its events said. */
export interface SseResume {
  /** The id of the last complete event; '' if an event has reset the id. */
  lastId?: string | undefined
  retryMs?: number
}

/** How often a stream without events has a comment, so that nothing between takes it for lost, in milliseconds. */
export const HEARTBEAT_MS = 15_000
/** The most characters of one event; a longer one is an attack or a defect. */
const MOST_CHARACTERS = 8 * 1024 * 1024

/**
 * Yields the events of a byte stream (`text/event-stream` of the WHATWG HTML standard) in batches: one array for each
 * read costs less than one promise for each event. The array is empty if a read completes no event. Events may be split
 * anywhere between reads. `resume` is updated with each event. Throws what the body throws, and an Error for an event
 * of more than 8 Mi characters. The body is cancelled if the reader stops early.
 *
 * @example
 * const { body } = await fetch(url)
 * if (body) for await (const frames of readSse(body)) for (const { data } of frames) console.log(JSON.parse(data))
 */
export async function* readSse(
  body: ReadableStream<Uint8Array>,
  resume: SseResume = {},
): AsyncGenerator<readonly SseFrame[], void> {
  const decoder = new TextDecoder()
  const readFrames = frameReader(resume)
  const reader = body.getReader()
  let isOver = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (!done) {
        yield readFrames(decoder.decode(value, { stream: true }))
        continue
      }
      isOver = true
      // The added line break completes an event whose empty line is missing. Other lines of it may be missing too, so
      // `lastId` is not changed: a reader that resumes the stream gets the event again.
      const { lastId } = resume
      const frames = readFrames(`${decoder.decode()}\r`)
      resume.lastId = lastId
      if (frames.length > 0) yield frames
      return
    }
  } finally {
    if (!isOver) reader.cancel().catch(() => {})
  }
}

/**
 * Returns a function that takes a stream's text piece by piece, calls `take` with each line that a piece completes, and
 * returns the number of characters of the line that is not complete. A line ends with LF, CRLF or CR.
 */
export function lineReader(take: (line: string) => void): (text: string) => number {
  /** The pieces of an unfinished line. They are joined once, at its end, since each concatenation would copy the text. */
  let pieces: string[] = []
  let size = 0
  let endedInReturn = false
  return (text) => {
    // A line feed after a carriage return belongs to the same line break.
    let rest = endedInReturn && text[0] === '\n' ? text.slice(1) : text
    if (text !== '') endedInReturn = text.endsWith('\r')
    if (rest.includes('\r')) rest = rest.replace(/\r\n?/g, '\n')
    let from = 0
    for (let to = rest.indexOf('\n'); to !== -1; to = rest.indexOf('\n', from)) {
      let line = rest.slice(from, to)
      from = to + 1
      if (pieces.length > 0) {
        line = pieces.join('') + line
        pieces = []
        size = 0
      }
      take(line)
    }
    if (from < rest.length) pieces.push(rest.slice(from))
    size += rest.length - from
    return size
  }
}

/** Splits a line of an event stream into the name of its field and the value. A comment has the name ''. */
export function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  const end = colon < 0 ? line.length : colon
  return [line.slice(0, end), line.slice(end + (line[end + 1] === ' ' ? 2 : 1))]
}

/** Throws if an event of so many characters is too long. */
export function refuseLongEvent(size: number): void {
  if (size > MOST_CHARACTERS) throw new Error('An event is too long')
}

/** Returns a function that takes a stream's text piece by piece and returns the events that each piece completes. */
function frameReader(resume: SseResume): (text: string) => readonly SseFrame[] {
  let frames: SseFrame[] = []
  let data: string | undefined
  let event: string | undefined
  let id: string | undefined
  /** The number of characters of the event's complete lines. */
  let size = 0

  function take(line: string): void {
    size += line.length
    if (line === '') {
      if (data !== undefined) frames.push({ event, id, data })
      if (id !== undefined) resume.lastId = id
      data = event = id = undefined
      size = 0
      return
    }
    const [name, value] = fieldOf(line)
    if (name === 'data') data = data === undefined ? value : `${data}\n${value}`
    else if (name === 'event') event = value || undefined
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d+$/.test(value)) resume.retryMs = Number(value)
  }

  const readLines = lineReader(take)
  return (text) => {
    frames = []
    const openSize = readLines(text)
    refuseLongEvent(size + openSize)
    return frames
  }
}

/** Turns of the microtask queue without an addition after which a burst counts as over. */
const QUIET_TURNS = 12
/** The least time between two chunks, in milliseconds. */
const LEAST_GAP_MS = 1

/**
 * Returns a function to call after each addition to a buffer. `flush` is called once nothing more was added for some
 * turns of the microtask queue: what comes in one read from the network leaves as one chunk, and waits for no I/O. Only
 * if the last flush was less than a millisecond ago, it waits for the rest of that time, since each chunk costs more
 * than the text in it. `flush` must not throw.
 */
export function burst(flush: () => void): () => void {
  let isScheduled = false
  let hasGrown = false
  let flushedAt = Number.NEGATIVE_INFINITY
  const flushNow = () => {
    isScheduled = false
    flushedAt = Date.now()
    flush()
  }
  const watch = async () => {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await Promise.resolve()
      if (hasGrown) turns = 0
      hasGrown = false
    }
    flushNow()
  }
  return () => {
    hasGrown = true
    if (isScheduled) return
    isScheduled = true
    if (Date.now() - flushedAt < LEAST_GAP_MS) setTimeout(flushNow, LEAST_GAP_MS)
    else void watch()
  }
}
