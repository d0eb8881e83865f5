/** One event of an event stream, as far as it matters here. */
export interface ServerEvent {
  readonly data: string
  /** Where to go on from, should the stream break off. */
  readonly id?: string
  readonly retryMs?: number
}

/** What is longer, all events together, is no answer but an attack or a fault. */
export const MOST_BYTES = 8 * 1024 * 1024

/** The events of a body, one by one. Throws for one that is too long. The body is cancelled when its reader stops. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  const read = lineReader()
  let fields: string[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      size += value?.byteLength ?? 0
      if (size > MOST_BYTES) throw new Error(`its answer is over ${MOST_BYTES} bytes`)
      // An event whose lines are whole counts, though the empty line after it is missing.
      for (const line of read(done ? '\n\n' : decoder.decode(value, { stream: true }))) {
        if (line !== '') fields.push(line)
        else if (fields.length > 0) {
          yield readFields(fields)
          fields = []
        }
      }
      if (done) return
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Takes a text piece by piece; gives the lines that each piece ends. What has no end yet is joined once it has. */
function lineReader(): (text: string) => readonly string[] {
  let pieces: string[] = []
  let endedInReturn = false
  return (text) => {
    if (text === '') return []
    // The line feed after a carriage return is the rest of one line break.
    const lines = (endedInReturn && text.startsWith('\n') ? text.slice(1) : text).split(/\r\n?|\n/)
    endedInReturn = text.endsWith('\r')
    pieces.push(lines.shift() ?? '')
    if (lines.length === 0) return []
    const first = pieces.join('')
    pieces = [lines.pop() ?? '']
    return [first, ...lines]
  }
}

function readFields(lines: readonly string[]): ServerEvent {
  const fields = lines.map((line) => /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [])
  const valuesOf = (name: string) => fields.filter(([, field]) => field === name).map(([, , value = '']) => value)
  const id = valuesOf('id').at(-1)
  const retry = valuesOf('retry').at(-1)
  return {
    data: valuesOf('data').join('\n'),
    ...(id && { id }),
    ...(retry && /^\d+$/.test(retry) && { retryMs: Number(retry) }),
  }
}
