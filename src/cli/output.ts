import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'

/** The output of wrangler, line by line and without colours. */
export interface Output {
  /** Returns the last lines, from the first error on, without the log lines of requests. */
  lastLines(): string
  /** Returns true once wrangler has reported an error. */
  hasFailed(): boolean
  /** Resolves if workerd does not start. Then wrangler follows no further change of a file, but does not end. */
  readonly runtimeFailed: Promise<void>
  /** Sets the receiver of each further line. */
  onLine(write: (line: string) => void): void
}

/** The log line of a request, such as `[wrangler:info] GET /health 200 OK (3ms)`. */
const REQUEST_LINE = /^\[wrangler:info\] [A-Z]+ \//
const KEPT_LINES = 20

/** Reads the output streams of wrangler. */
export function readOutput(...streams: readonly NodeJS.ReadableStream[]): Output {
  const lines: string[] = []
  let failed = false
  const runtimeFailed = Promise.withResolvers<void>()
  let write: ((line: string) => void) | undefined
  for (const input of streams) {
    createInterface({ input }).on('line', (coloured) => {
      const line = stripVTControlCharacters(coloured)
      if (!REQUEST_LINE.test(line)) lines.push(line)
      if (lines.length > KEPT_LINES) lines.shift()
      failed ||= isError(line)
      if (line.includes('The Workers runtime failed to start')) runtimeFailed.resolve()
      write?.(line)
    })
  }
  return {
    lastLines: () => {
      const first = Math.max(lines.findIndex(isError), 0)
      return lines.slice(first).join('\n').trim()
    },
    hasFailed: () => failed,
    runtimeFailed: runtimeFailed.promise,
    onLine: (next) => {
      write = next
    },
  }
}

function isError(line: string): boolean {
  return line.includes('[ERROR]')
}
