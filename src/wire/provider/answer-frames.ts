import { parseJson } from '../../contract/json.ts'
import { within } from '../../contract/time-limit.ts'
import { fieldOf, lineReader, refuseLongEvent, type SseFrame } from '../sse.ts'

/**
 * Yields the frames of a model server's answer, in batches as `readSse` does. It reads event streams, and all that is sent
 * in their place: a JSON value on each line, frames without an empty line between them, and JSON that is one value, however
 * many lines it takes. Once `endsAt` returns a time, in epoch milliseconds, the answer ends then, or where its connection
 * breaks. Throws what the body throws, and an Error for a frame of more than 8 Mi characters.
 */
export async function* readAnswerFrames(
  body: ReadableStream<Uint8Array>,
  endsAt: () => number | undefined,
): AsyncGenerator<readonly SseFrame[], void> {
  const decoder = new TextDecoder()
  const readFrames = frameReader()
  const reader = body.getReader()
  let isOver = false
  try {
    for (;;) {
      const end = endsAt()
      const read = reader.read()
      const { done, value } = await (end === undefined
        ? read
        : within(
            end - Date.now(),
            read.catch(() => END_OF_BODY),
            END_OF_BODY,
          ))
      if (!done) {
        yield readFrames(decoder.decode(value, { stream: true }))
        continue
      }
      isOver = value !== END_OF_BODY.value
      const frames = readFrames(`${decoder.decode()}\n`, true)
      if (frames.length > 0) yield frames
      return
    }
  } finally {
    if (!isOver) reader.cancel().catch(() => {})
  }
}

/** What stands for a read that does not come any more. */
const END_OF_BODY = { done: true, value: new Uint8Array() } as const

/** Returns a function that takes the text of an answer piece by piece, and returns the frames that each piece completes. */
function frameReader(): (text: string, isLast?: boolean) => readonly SseFrame[] {
  let frames: SseFrame[] = []
  let data: string | undefined
  let event: string | undefined
  /** Whether the data have no name of a field before them. */
  let isBare = false

  function dispatch(): void {
    if (data !== undefined) frames.push({ event, data })
    data = event = undefined
    isBare = false
  }

  function add(text: string): void {
    data = data === undefined ? text : `${data}\n${text}`
  }

  function take(line: string): void {
    if (line.trim() === '') {
      // JSON in many lines may have empty ones.
      if (!isBare || isWhole(data)) dispatch()
      return
    }
    const [name, value] = fieldOf(line)
    if (FIELDS.has(name)) {
      if (isWhole(data)) dispatch()
      if (name === 'data') add(value)
      else if (name === 'event') event = value || undefined
    } else if (name !== '') {
      const isFirst = /^\s*[[{]/.test(line)
      if (isFirst && isWhole(data)) dispatch()
      if (data === undefined && !isFirst) return
      isBare ||= data === undefined
      add(line)
      // Only what may be the last line of a value is worth parsing all of it.
      if (isBare && (data === line || line[0] === (data?.trimStart()[0] === '[' ? ']' : '}')) && isWhole(data))
        dispatch()
    }
  }

  const readLines = lineReader(take)
  return (text, isLast = false) => {
    frames = []
    const openSize = readLines(text)
    // The line break that would end the frame may never come. Bare values may stand one after the other.
    if (isWhole(data) || (isLast && isBare && /[\]}]\s*$/.test(data ?? ''))) dispatch()
    refuseLongEvent((data?.length ?? 0) + openSize)
    return frames
  }
}

const FIELDS: ReadonlySet<string> = new Set(['data', 'event', 'id', 'retry'])

/** Whether nothing can be missing of the data of a frame: a JSON value, a comment, or the mark of the end. */
function isWhole(data: string | undefined): boolean {
  if (data === undefined) return false
  const text = data.trim()
  if (text[0] === ':' || text === '[DONE]') return true
  return /^[[{]/.test(text) && /[\]}]$/.test(text) && parseJson(text) !== undefined
}
