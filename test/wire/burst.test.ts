import { expect, test } from 'vitest'
import { burst } from '../../src/wire/burst.ts'

test('additions that come turn by turn of the microtask queue are one burst, and those after a pause another', async () => {
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
