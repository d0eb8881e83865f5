import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { say } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

/**
 * What JavaScript keeps of runs. The memory of workerd also grows with its objects, by 2 to 3 MB each up to that size of
 * their databases, since SQLite keeps 2 MB of pages: so do objects that only write and read rows.
 */

/** Each run has an input and an answer of this length. */
const CHARACTERS = 100_000
const RUNS = 60

/** Returns the bytes of the heap that are in use. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  // The contexts of tests after this one have no such global.
  setFlagsFromString('--no-expose-gc')
  if (typeof collect === 'function') collect()
  return process.memoryUsage().heapUsed
}

test('an object keeps no input and no answer of runs that have ended', async () => {
  const conversation = new TestConversation(() => say('a'.repeat(CHARACTERS)), [], { MEMORY_MESSAGES: '2' })
  const run = async (name: number) => {
    await conversation.start(name, {
      request: { input: [{ role: 'user', content: `${name} ${'b'.repeat(CHARACTERS)}` }] },
    })
    expect(await conversation.object.record(runId(name), 60_000)).toMatchObject({ record: { status: 'completed' } })
    // What the test keeps.
    conversation.requests.length = 0
    conversation.reports.length = 0
  }
  for (let name = 1; name <= 10; name++) await run(name)
  const before = usedBytes()
  for (let name = 11; name <= 10 + RUNS; name++) await run(name)
  // One text of each run would be 6 MB.
  expect(usedBytes() - before).toBeLessThan((RUNS * CHARACTERS) / 2)
})
