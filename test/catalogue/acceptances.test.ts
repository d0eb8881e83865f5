import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import { catalogue } from '../../src/catalogue/catalogue.ts'
import { MIGRATIONS } from '../../src/catalogue/store.ts'
import { freezeClock } from '../fixtures/frozen-clock.ts'
import { copiedAcceptances, copiedIndex } from '../fixtures/kv-copy.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { FakeKv } from '../host/source/fake-kv.ts'
import { testCatalogue } from './object.ts'

const START = Date.UTC(2026, 10, 20)
const AT = '2026-11-20T00:00:00.000Z'
const by = { tenant: 'acme', key: '0123456789ab' }

freezeClock(START)

const tool = (name: string, hash: string, place = 'TOOL_MCP', server?: string) => ({ name, place, hash, server })
const version = (name: string, text: string) =>
  ({ name, hash: text, text, offered: true, version: '1', action: 'put', by }) as const

describe('the accepted definition of a tool', () => {
  test('is the first one seen, until another is accepted', async () => {
    const { object, revive } = testCatalogue()
    expect(await object.accept([tool('a', '1'), tool('a', '2', 'TOOL_B')])).toEqual([
      { revision: START, hash: '1' },
      { revision: START + 1, hash: '2' },
    ])
    expect(await object.accept([tool('a', '3')])).toEqual([{ revision: START, hash: '1' }])
    expect(await object.accept([tool('a', '3')], by)).toEqual([{ revision: START + 2, hash: '3' }])
    expect(await revive().accept([tool('a', '1'), tool('a', '1', 'TOOL_B')])).toMatchObject([
      { hash: '3' },
      { hash: '2' },
    ])
  })

  test('is listed with author and time beside the versions of a stored definition of that name', async () => {
    const { object } = testCatalogue()
    await object.accept([tool('a', '1')])
    await object.write(version('a', 'text'))
    await object.accept([tool('a', '2')], by)
    const change = { version: '1', change: 'created', breaks: [] }
    expect(await object.history('a', { limit: 9 })).toEqual([
      { revision: START + 2, action: 'accept', place: 'TOOL_MCP', hash: '2', by, at: AT },
      { revision: START + 1, action: 'put', hash: 'text', ...change, by, at: AT },
      { revision: START, action: 'first_seen', place: 'TOOL_MCP', hash: '1', at: AT },
    ])
    // Neither is the other.
    expect(await object.write(version('a', 'text'))).toMatchObject({ change: 'unchanged' })
    expect(await object.remove('none', by)).toBeUndefined()
  })

  test('can be read as it was, unless the definition is very long', async () => {
    const { object } = testCatalogue()
    const definition = (description: string) => ({
      name: 'a',
      description,
      inputSchema: { type: 'object' },
      version: '1',
      hash: 'of its own',
      annotations: {},
    })
    await object.accept([{ ...tool('a', '1'), definition: definition('First') }])
    await object.accept([{ ...tool('a', '2'), definition: definition('Seen, but not accepted') }])
    await object.accept([{ ...tool('a', '3'), definition: definition('Accepted') }], by)
    await object.accept([{ ...tool('a', '4'), definition: definition('x'.repeat(65_536)) }], by)
    const texts = await Promise.all(['1', '2', '3', '4'].map((hash) => object.version('a', hash)))
    expect(texts).toEqual([
      JSON.stringify(definition('First')),
      undefined,
      JSON.stringify(definition('Accepted')),
      undefined,
    ])
  })

  test('is remembered for a limited number of tools of each server, which leaves room to the others', async () => {
    const { object } = testCatalogue()
    const many = Array.from({ length: 2000 }, (_, index) => tool(`t${index}`, 'x', 'TOOL_MCP', 'flood'))
    await object.accept(many)
    const others = [tool('new', 'x', 'TOOL_MCP', 'other'), tool('own', 'x'), tool('new', 'x', 'TOOL_B', 'flood')]
    expect(await object.accept([tool('more', 'x', 'TOOL_MCP', 'flood'), tool('t0', 'y'), ...others])).toMatchObject([
      null,
      { hash: 'x' },
      { hash: 'x' },
      { hash: 'x' },
      { hash: 'x' },
    ])
  })

  test('is forgotten after a day at the earliest, once its server has brought too many, unless a person accepted it', async () => {
    const { object, kv, settle } = testCatalogue()
    const flood = (name: string) => tool(name, 'x', 'TOOL_MCP', 'flood')
    await object.accept(Array.from({ length: 2000 }, (_, index) => flood(`t${index}`)))
    await object.accept([tool('t0', 'y', 'TOOL_MCP', 'flood')], by)
    vi.setSystemTime(START + 86_400_000 - 1)
    expect(await object.accept([flood('early')])).toEqual([null])
    vi.setSystemTime(START + 2 * 86_400_000)
    expect(await object.accept([flood('late')])).toMatchObject([{ hash: 'x' }])
    await settle()
    const copy = copiedAcceptances(kv.stored)
    expect(copy).toHaveLength(2000)
    expect(copy.filter((line) => /^(?:t0|t1|late)@/.test(line))).toEqual(['late@TOOL_MCP x', 't0@TOOL_MCP y'])
  })
})

describe('the copy in KV', () => {
  test('has the accepted definitions, written at most once a second and apart from the index of stored definitions', async () => {
    const { object, kv, settle } = testCatalogue()
    await object.write(version('stored', 'text'))
    await object.accept([tool('b', '1'), tool('a', '1'), tool('a', '2', 'MY PLACE')])
    await settle()
    expect(copiedAcceptances(kv.stored)).toEqual(['a@MY_PLACE 2', 'a@TOOL_MCP 1', 'b@TOOL_MCP 1'])
    expect(copiedIndex(kv.stored).tools).toEqual(['stored text'])
    kv.operations.length = 0
    for (const hash of ['2', '3', '4']) await object.accept([tool('a', hash)], by)
    expect(await settle()).toBe(1)
    expect(kv.operations.filter((request) => request === 'put tools:accepted')).toHaveLength(1)
    expect(Date.now()).toBe(START + 1001)
    expect(copiedAcceptances(kv.stored)).toContain('a@TOOL_MCP 4')
  })

  test('is not written again for known tools', async () => {
    const { object, kv, settle } = testCatalogue()
    await object.accept([tool('a', '1')])
    await settle()
    kv.operations.length = 0
    await object.accept([tool('a', '2')])
    await settle()
    expect(kv.operations).toEqual([])
  })
})

test('an older catalogue is migrated to store acceptances and keeps its data', async () => {
  const storage = Object.assign(memoryStorage(new DatabaseSync(':memory:')), { setAlarm: async () => {} })
  const { sql } = storage
  sql.exec(`CREATE TABLE meta (version INTEGER NOT NULL); INSERT INTO meta VALUES (1); ${MIGRATIONS[0]}`)
  sql.exec(`INSERT INTO history (revision, name, action, hash, change, breaks, author, at)
    VALUES (7, 'old', 'put', 'h', 'created', '[]', '{"tenant":"acme"}', 7);
    INSERT INTO versions VALUES ('old', 'h', '1', 1, 'text');`)
  const Catalog = catalogue<object>(() => ({
    namespace: new FakeKv(),
    compare: async () => ({ change: 'compatible', breaks: [] }),
    report: () => {},
  }))
  const object = new Catalog({ storage } as unknown as DurableObjectState, {})
  expect(await object.accept([tool('old', '1')])).toMatchObject([{ hash: '1' }])
  expect(await object.history('old', { limit: 9 })).toMatchObject([
    { action: 'first_seen', place: 'TOOL_MCP' },
    { revision: 7, action: 'put', hash: 'h', by: { tenant: 'acme' } },
  ])
  expect(await object.write(version('old', 'text2'))).toMatchObject({ status: 'replaced', change: 'compatible' })
})

test('a catalogue of a newer schema version keeps its version under a rolled-back edge', async () => {
  const storage = Object.assign(memoryStorage(new DatabaseSync(':memory:')), { setAlarm: async () => {} })
  const Catalog = catalogue<object>(() => ({ namespace: new FakeKv(), compare: vi.fn<never>(), report: () => {} }))
  const live = () => new Catalog({ storage } as unknown as DurableObjectState, {})
  await live().accept([tool('pay', '1')])
  storage.sql.exec('UPDATE meta SET version = version + 1')
  live()
  expect(storage.sql.exec('SELECT version FROM meta').toArray()).toEqual([{ version: MIGRATIONS.length + 1 }])
})

test('a catalogue that is only read creates no tables', async () => {
  const storage = Object.assign(memoryStorage(new DatabaseSync(':memory:')), { setAlarm: async () => {} })
  const Catalog = catalogue<object>(() => ({ namespace: new FakeKv(), compare: vi.fn<never>(), report: () => {} }))
  const object = new Catalog({ storage } as unknown as DurableObjectState, {})
  expect(await object.history('pay', { limit: 9 })).toEqual([])
  expect(await object.version('pay', 'h')).toBeUndefined()
  expect(await object.remove('pay', { tenant: 'acme' })).toBeUndefined()
  expect(await object.size()).toBe(0)
  expect(storage.sql.exec('SELECT name FROM sqlite_master').toArray()).toEqual([])
})
