import { describe, expect, test } from 'vitest'
import { readSse, type SseFrame, type SseResume } from '../../src/wire/sse.ts'
import { inPieces } from '../fixtures/replay.ts'

async function framesOf(body: ReadableStream<Uint8Array>): Promise<SseFrame[]> {
  const frames: SseFrame[] = []
  for await (const together of readSse(body)) frames.push(...together)
  return frames
}

const utf8 = (text: string) => new TextEncoder().encode(text)

describe('an event stream', () => {
  const stream = ': hello\r\n\r\nevent: a\r\nid: 7\r\ndata: {"ä":"🎈"}\r\n\r\ndata:one\r\ndata: two\r\n\r\ndata\r\n\r\n'
  const frames = [{ event: 'a', id: '7', data: '{"ä":"🎈"}' }, { data: 'one\ntwo' }, { data: '' }]

  test.each([1000, 1, 2, 3, 5, 7, 97])('is read the same in pieces of %i bytes', async (size) => {
    expect(await framesOf(inPieces(utf8(stream), size))).toEqual(frames)
    expect(await framesOf(inPieces(utf8(stream.replaceAll('\r\n', '\n')), size))).toEqual(frames)
    expect(await framesOf(inPieces(utf8(stream.replaceAll('\r\n', '\r')), size))).toEqual(frames)
  })

  test('returns together what one read contained', async () => {
    const batches: (readonly SseFrame[])[] = []
    for await (const together of readSse(inPieces(utf8('data: 1\n\ndata: 2\n\ndata: 3\n\n'), 18)))
      batches.push(together)
    expect(batches).toEqual([[{ data: '1' }, { data: '2' }], [{ data: '3' }]])
  })

  test('reports bytes that are not yet an event', async () => {
    const sizes: number[] = []
    for await (const together of readSse(inPieces(utf8(': ping\n\ndata: 1\n\n'), 8))) sizes.push(together.length)
    expect(sizes).toEqual([0, 0, 1])
  })

  test('accepts a last event that lacks only the empty line, and drops half a line', async () => {
    expect(await framesOf(inPieces(utf8('data: 1\n\ndata: 2\n')))).toEqual([{ data: '1' }, { data: '2' }])
    expect(await framesOf(inPieces(utf8('data: 1\n\ndata: 2')))).toEqual([{ data: '1' }])
    expect(await framesOf(inPieces(utf8('')))).toEqual([])
  })

  test.each<[string, SseResume]>([
    ['data: 1\n\n', {}],
    ['id: 7\nretry: 5\ndata:\n\ndata: x\n\n', { lastId: '7', retryMs: 5 }],
    ['id: 7\n\nretry: 5\n\n', { lastId: '7', retryMs: 5 }],
    ['id: 7\n\nretry: 5\n\nid\nretry: x\n\n', { lastId: '', retryMs: 5 }],
    // An event that is not over is to come again.
    ['id: 7\ndata: 1\n\nid: 8\ndata: 2', { lastId: '7' }],
    ['id: 7\ndata: 1\n\nid: 8\ndata: 2\n', { lastId: '7' }],
  ])('%j has the fields for resuming', async (text, expected) => {
    const resume: SseResume = {}
    for await (const _ of readSse(inPieces(utf8(text), 3), resume));
    expect(resume).toEqual(expected)
  })

  test('may bring one large event in many small pieces', async () => {
    const data = 'x'.repeat(4 * 1024 * 1024)
    expect(await framesOf(inPieces(utf8(`data: ${data}\n\n`), 1024))).toEqual([{ data }])
  })

  test('accepts invalid UTF-8 and a byte order mark', async () => {
    const bytes = new Uint8Array([0xef, 0xbb, 0xbf, ...utf8('data: a'), 0xff, ...utf8('b\n\n')])
    expect(await framesOf(inPieces(bytes, 1))).toEqual([{ data: 'a\u{fffd}b' }])
  })

  test('is cancelled when its reader stops early', async () => {
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(utf8('data: x\n\n')),
      cancel: () => {
        cancelled = true
      },
    })
    for await (const [frame] of readSse(body)) {
      expect(frame).toEqual({ data: 'x' })
      break
    }
    expect(cancelled).toBe(true)
  })

  test('fails when its body fails, after the earlier events', async () => {
    let pulls = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) =>
        pulls++ === 0 ? controller.enqueue(utf8('data: x\n\n')) : controller.error(new Error('gone')),
    })
    const frames: SseFrame[] = []
    const read = async () => {
      for await (const together of readSse(body)) frames.push(...together)
    }
    await expect(read()).rejects.toThrow('gone')
    expect(frames).toEqual([{ data: 'x' }])
  })

  test('fails for an endless event', async () => {
    const mebibyte = utf8('x'.repeat(1024 * 1024))
    let pulls = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(pulls++ === 0 ? utf8('data: ') : mebibyte),
    })
    await expect(framesOf(body)).rejects.toThrow('An event is too long')
    expect(pulls).toBeLessThan(12)
  })
})
