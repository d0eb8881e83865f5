import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { PLATFORM_LIMITS } from '../../src/contract/platform.ts'
import { MOST_COPY_BYTES } from '../../src/contract/backup.ts'
import { readConfig } from '../../src/contract/config.ts'
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts'
import { Chunks } from '../../src/conversation/store/chunks.ts'
import { migrate } from '../../src/conversation/store/migrations.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'

const MIB = 1024 * 1024

test('a run is continued in another invocation before it has made the subrequests of one, and the page says after how many', () => {
  const { maxSubrequests } = readConfig({})
  // The rest is for finding tools, hooks, webhooks and reports.
  expect(maxSubrequests).toBeLessThanOrEqual(0.9 * 10_000)
  expect(PLATFORM_LIMITS.subrequests.here).toContain(`(${maxSubrequests.toLocaleString('en')}; `)
})

test('a run with the default limits ends within the time of an alarm', () => {
  expect(DEFAULT_LIMITS.runMs).toBeLessThanOrEqual(15 * 60_000)
})

test('the body of a request and a copy of a conversation fit into a message over RPC, and into memory several times', () => {
  expect(readConfig({}).maxBodyBytes).toBe(MIB)
  expect(MOST_COPY_BYTES).toBeLessThan(32 * MIB)
  expect(MOST_COPY_BYTES * 3).toBeLessThan(128e6)
})

test('no text makes a row longer than an object may have, whichever characters it consists of', () => {
  const database = new DatabaseSync(':memory:')
  const storage = memoryStorage(database)
  migrate(storage)
  const chunks = new Chunks(storage.sql)
  for (const character of ['a', 'é', '語', '🦊']) {
    const text = character.repeat(2_000_000)
    const column = chunks.keep(text)
    expect(column.length).toBeLessThan(100)
    expect(chunks.read(column)).toBe(text)
  }
  const [row] = database.prepare('SELECT max(length(CAST(text AS BLOB))) AS bytes FROM chunks').all()
  expect(row?.['bytes']).toBeLessThan(2e6)
})
