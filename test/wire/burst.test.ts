import { expect, test, vi } from 'vitest'
import { burst } from '../../src/wire/sse.ts'

test('additions in consecutive microtasks are flushed together, and those after a pause separately', async () => {
  let buffer = ''
  const flushed: string[] = []
  const added = burst(() => {
    flushed.push(buffer)
    buffer = ''
  })
  const add = async (text: string) => {
    for (const char of text) {
      buffer += char
      added()
      for (let turn = 0; turn < 5; turn++) await Promise.resolve()
    }
  }
  await add('one')
  await new Promise((resolve) => setTimeout(resolve))
  await add('two')
  expect(flushed).toEqual(['one'])
  await new Promise((resolve) => setTimeout(resolve))
  expect(flushed).toEqual(['one', 'two'])
})

test('an addition less than a millisecond after a flush waits for the rest of that millisecond', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout'] })
  try {
    let buffer = ''
    const flushed: string[] = []
    const added = burst(() => {
      flushed.push(buffer)
      buffer = ''
    })
    const add = async (text: string) => {
      buffer += text
      added()
      await vi.advanceTimersByTimeAsync(0)
    }
    for (const text of ['one ', 'two ', 'three ']) await add(text)
    expect(flushed).toEqual(['one '])
    await vi.advanceTimersByTimeAsync(1)
    expect(flushed).toEqual(['one ', 'two three '])
    await vi.advanceTimersByTimeAsync(1)
    await add('four')
    expect(flushed).toEqual(['one ', 'two three ', 'four'])
  } finally {
    vi.useRealTimers()
  }
})
