import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import type { AnswerCodec } from '../../src/wire/provider/model-answer.ts'
import { inPieces, replay } from '../fixtures/replay.ts'

/** What a codec reads from an answer that comes whole. */
export function readWhole(codec: AnswerCodec, body: unknown): ModelEvent[] {
  const decoder = codec.decoder()
  return [...decoder.push({ data: JSON.stringify(body) ?? '' }), ...decoder.end(true)]
}

/** Tests what a codec reads from each stream that is recorded in a folder of `test/fixtures`, however it is cut. */
export function testRecorded(
  folder: string,
  codec: AnswerCodec,
  said: Readonly<Record<string, readonly ModelEvent[]>>,
): void {
  const fixtures = `test/fixtures/${folder}`

  test('every recorded stream is used', () => {
    const recorded = readdirSync(fixtures).map((file) => file.replace(/\.sse$/, ''))
    expect(recorded.toSorted()).toEqual(Object.keys(said).toSorted())
  })

  describe.each(Object.entries(said))('the stream "%s"', (name, events) => {
    const recorded = readFileSync(`${fixtures}/${name}.sse`, 'utf8')
    const lines = { LF: recorded, CRLF: recorded.replaceAll('\n', '\r\n') }

    for (const [breaks, body] of Object.entries(lines)) {
      const bytes = new TextEncoder().encode(body)
      test.each([bytes.length, 1, 7, 97])(`has the same events with ${breaks}, in pieces of %i bytes`, async (size) => {
        expect(await replay(inPieces(bytes, size), codec)).toEqual(events)
      })
    }
  })
}
