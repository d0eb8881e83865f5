import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import type { AnswerCodec } from '../../src/wire/provider/model-answer.ts'
import { recordedStreams } from '../fixtures/recorded.ts'
import { inPieces, replay } from '../fixtures/replay.ts'

/** What a codec reads from an answer that comes whole. */
export function readWhole(codec: AnswerCodec, body: unknown): ModelEvent[] {
  const decoder = codec.decoder()
  return [...decoder.push({ data: JSON.stringify(body) ?? '' }), ...decoder.end(true)]
}

/** Tests what a codec reads from each stream that is recorded for a format, however its bytes are split. */
export function testRecorded(
  format: string,
  codec: AnswerCodec,
  expected: Readonly<Record<string, readonly ModelEvent[]>>,
): void {
  const streams = recordedStreams(format)

  test('every recorded stream is used', () => {
    expect(Object.keys(streams).toSorted()).toEqual(Object.keys(expected).toSorted())
  })

  describe.each(Object.entries(expected))('the stream "%s"', (name, events) => {
    const recorded = streams[name] ?? ''
    const lines = { LF: recorded, CRLF: recorded.replaceAll('\n', '\r\n') }

    for (const [breaks, body] of Object.entries(lines)) {
      const bytes = new TextEncoder().encode(body)
      test.each([bytes.length, 1, 7, 97])(`has the same events with ${breaks}, in pieces of %i bytes`, async (size) => {
        expect(await replay(inPieces(bytes, size), codec)).toEqual(events)
      })
    }
  })
}
