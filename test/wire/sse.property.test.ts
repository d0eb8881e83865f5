import { createParser, type EventSourceMessage } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readSse, type SseFrame, type SseResume } from '../../src/wire/sse.ts'

/** The words of the format, and what is easily taken for them. */
const WORDS = [
  ...['data', 'event', 'id', 'retry', 'dat', 'Data', ':', ': ', ':  ', ' ', 'x', 'é', '🎈', '{"a":1}'],
  ...['\n', '\n\n', '\r', '\r\n', '\r\n\r\n', '\t', '\0', '\u{feff}', '\u{85}', '\u{2028}'],
  ...['data: one\n\n', 'data:two\r\n', 'event: a\n', 'event:\n', 'id: 7\n', 'id\n', ': comment\n'],
  'id: \0\ndata: nul\n\n',
  ...['retry: 5\n', 'retry: 7\n\n', 'retry: 5x\n'],
]

const streams = fc.array(fc.constantFrom(...WORDS), { maxLength: 40 }).map((words) => words.join(''))

/** The bytes as a stream cut at these places. */
function cutAt(bytes: Uint8Array, places: readonly number[]): ReadableStream<Uint8Array> {
  const cuts = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return new ReadableStream({
    start: (controller) => {
      let from = 0
      for (const to of cuts) {
        controller.enqueue(bytes.slice(from, to))
        from = to
      }
      controller.close()
    },
  })
}

interface Read {
  readonly events: readonly (SseFrame | EventSourceMessage)[]
  readonly retryMs: number | undefined
}

async function ours(body: ReadableStream<Uint8Array>): Promise<Read> {
  const events: SseFrame[] = []
  const resume: SseResume = {}
  for await (const together of readSse(body, resume)) events.push(...together)
  return { events, retryMs: resume.retryMs }
}

/** The same as a parser made by others reads it, with the break that ends a last line which lacks it. */
function parsed(bytes: Uint8Array): Read {
  const events: EventSourceMessage[] = []
  let retryMs: number | undefined
  const parser = createParser({ onEvent: (event) => events.push(event), onRetry: (ms) => void (retryMs = ms) })
  parser.feed(new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes))
  parser.feed('\r')
  return { events, retryMs }
}

test('a stream is read as eventsource-parser reads it, however it is split', async () => {
  await fc.assert(
    fc.asyncProperty(streams, fc.array(fc.nat(200), { maxLength: 30 }), async (text, places) => {
      const bytes = new TextEncoder().encode(text)
      expect(await ours(cutAt(bytes, places))).toEqual(parsed(bytes))
    }),
    // A line break cut in two, with an empty piece between.
    { numRuns: 1000, examples: [['data: a\r\ndata: b\r\n\r\n', [8, 8]]] },
  )
})

test('invalid UTF-8 is replaced in the same way as eventsource-parser does', async () => {
  const bytes = fc.uint8Array({ maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(60), { maxLength: 10 }), async (noise, places) => {
      const [head, tail] = [new TextEncoder().encode('data: '), new TextEncoder().encode('\n\ndata: end\n\n')]
      const stream = new Uint8Array([...head, ...noise, ...tail])
      expect(await ours(cutAt(stream, places))).toEqual(parsed(stream))
    }),
  )
})
