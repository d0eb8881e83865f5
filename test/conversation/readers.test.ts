import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Readers } from '../../src/conversation/run/readers.ts'

/** A run's frames, numbered from 1, of which a portion is read at a time. */
class Frames {
  readonly all: string[] = []
  readonly readers = new Readers()

  say(text: string): void {
    this.all.push(text)
    this.readers.push('run', text, this.all.length)
  }

  read = (after: number) => {
    const portion = this.all.slice(after, after + 2)
    return { frames: portion.join(''), last: after + portion.length }
  }

  open(after = 0, ended = false): ReadableStream<Uint8Array> {
    return this.readers.open('run', { read: this.read }, { after, isCurrent: false, isEnded: ended })
  }
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of stream) text += decoder.decode(bytes, { stream: true })
  return text
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] }))
afterEach(() => void vi.useRealTimers())

test('a reader gets past events, then new ones, to the end', async () => {
  const frames = new Frames()
  for (const text of ['a', 'b', 'c']) frames.say(text)
  const stream = textOf(frames.open(1))
  await Promise.resolve()
  frames.say('d')
  frames.readers.close('run')
  expect(await stream).toBe('bcd')
})

test('a stream of an ended run has the remaining events and ends', async () => {
  const frames = new Frames()
  for (const text of ['a', 'b', 'c', 'd', 'e']) frames.say(text)
  expect(await textOf(frames.open(0, true))).toBe('abcde')
  expect(await textOf(frames.open(5, true))).toBe('')
})

test('a reader that stops reading falls behind, fills no memory, and misses nothing when it resumes', async () => {
  const frames = new Frames()
  const stream = frames.open()
  const text = 'x'.repeat(10_000)
  for (let index = 0; index < 1000; index++) frames.say(`${index}:${text};`)
  const reader = stream.getReader()
  const first = await reader.read()
  expect(first.value?.byteLength).toBeLessThan(256 * 1024)
  frames.say('last')
  frames.readers.close('run')
  reader.releaseLock()
  const rest = await textOf(stream)
  const all = new TextDecoder().decode(first.value) + rest
  expect(all).toBe(frames.all.join(''))
})

test('a slow reader does not delay another', async () => {
  const frames = new Frames()
  const idle = frames.open()
  const keen = textOf(frames.open())
  const text = 'x'.repeat(100_000)
  for (let index = 0; index < 20; index++) {
    frames.say(text)
    await Promise.resolve()
  }
  frames.readers.close('run')
  expect((await keen).length).toBe(2_000_000)
  await idle.cancel()
})

test('a live reader gets heartbeats, and one that stopped reading loses its stream', async () => {
  const frames = new Frames()
  const live = frames.open().getReader()
  const read = live.read()
  await Promise.resolve()
  vi.advanceTimersByTime(15_000)
  expect(new TextDecoder().decode((await read).value)).toBe(': alive\n\n')

  const stalled = frames.open()
  await Promise.resolve()
  for (let index = 0; index < 10; index++) frames.say('x'.repeat(100_000))
  vi.advanceTimersByTime(45_000)
  const reader = stalled.getReader()
  await expect(
    (async () => {
      for (;;) if ((await reader.read()).done) return
    })(),
  ).rejects.toThrow('resume from the last event id')
})
