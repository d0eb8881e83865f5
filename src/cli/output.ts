import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'

/** What wrangler writes, line by line and without colours. */
export interface Output {
  /** The last lines, from the first error on; requests are left out. */
  lastLines(): string
  /** True once wrangler has told of an error. */
  hasFailed(): boolean
  /** Passes on each further line. */
  onLine(write: (line: string) => void): void
}

/** Such as `[wrangler:info] GET /health 200 OK (3ms)`. */
const REQUEST_LINE = /^\[wrangler:info\] [A-Z]+ \//
const KEPT_LINES = 20

/** Reads the streams of a wrangler. */
export function readOutput(...streams: readonly NodeJS.ReadableStream[]): Output {
  const lines: string[] = []
  let failed = false
  let write: ((line: string) => void) | undefined
  for (const input of streams) {
    createInterface({ input }).on('line', (coloured) => {
      const line = stripVTControlCharacters(coloured)
      if (!REQUEST_LINE.test(line)) lines.push(line)
      if (lines.length > KEPT_LINES) lines.shift()
      failed ||= isError(line)
      write?.(line)
    })
  }
  return {
    lastLines: () => {
      const first = Math.max(lines.findIndex(isError), 0)
      return lines.slice(first).join('\n').trim()
    },
    hasFailed: () => failed,
    onLine: (next) => {
      write = next
    },
  }
}

function isError(line: string): boolean {
  return line.includes('[ERROR]')
}
