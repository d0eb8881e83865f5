import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type KeyValues, type Once, onceInKv, onceInSql, type SqlOnce } from '../../src/tool/once.ts'
import { ToolError } from '../../src/tool/result.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { eventually } from '../fixtures/eventually.ts'

const DAY = 86_400_000
const NOT_SENT = new ToolError('There is no such mailbox.', { code: 'unknown_mailbox' })
const IN_DOUBT = {
  name: 'ToolError',
  code: 'in_doubt',
  message: expect.stringContaining('whether it took effect is unknown, and it was not repeated'),
}

/** An effect that counts, and tells how often it has happened. */
function counter() {
  let count = 0
  return { effect: async () => ({ effects: (count += 1) }), count: () => count }
}

/** Work that is at its effect until it is let go on. */
function deferred<Result>(result: Result) {
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  return { work: vi.fn(() => promise), finish: () => resolve(result), fail: reject }
}

interface Shelf {
  /** A new one over the same storage, as after a restart. */
  readonly open: () => Once
}

let now = 0
beforeEach(() => {
  now = Date.parse('2026-11-20T12:00:00Z')
})
const clock = () => now

function sqlShelf(): Shelf & { open: () => SqlOnce; database: DatabaseSync } {
  const database = new DatabaseSync(':memory:')
  return { database, open: () => onceInSql(memoryStorage(database), { now: clock }) }
}

function kvShelf(): Shelf & { values: Map<string, { value: string; expires: number }> } {
  const values = new Map<string, { value: string; expires: number }>()
  const namespace: KeyValues = {
    get: async (key) => {
      const entry = values.get(key)
      return entry && entry.expires > now ? entry.value : null
    },
    put: async (key, value, { expirationTtl }) => void values.set(key, { value, expires: now + expirationTtl * 1000 }),
    delete: async (key) => void values.delete(key),
  }
  return { values, open: () => onceInKv(namespace) }
}

describe.each([
  ['a SQLite database', sqlShelf],
  ['KV', kvShelf],
])('over %s', (_, shelfOf) => {
  let shelf: Shelf
  beforeEach(() => {
    shelf = shelfOf()
  })

  test('the work of a key runs once, and its result is stored, also across a restart', async () => {
    const { effect, count } = counter()
    const once = shelf.open()
    expect(await once('a', effect)).toEqual({ effects: 1 })
    expect(await once('a', effect)).toEqual({ effects: 1 })
    expect(await shelf.open()('a', effect)).toEqual({ effects: 1 })
    expect(await once('b', effect)).toEqual({ effects: 2 })
    expect(count()).toBe(2)
  })

  test.each([[undefined], [null], [0], [''], [['x']], [{ text: '明日' }]])('the result may be %j', async (result) => {
    await shelf.open()('a', () => result)
    expect(await shelf.open()('a', () => 'another')).toEqual(result)
  })

  test('concurrent callers share the outcome of the work', async () => {
    const once = shelf.open()
    const { work, finish } = deferred('sent')
    const pendingCalls = Array.from({ length: 20 }, () => once('a', work))
    await eventually(() => expect(work).toHaveBeenCalled())
    expect(await once.status('a')).toBe('started')
    finish()
    expect(await Promise.all(pendingCalls)).toEqual(Array(20).fill('sent'))
    expect(work).toHaveBeenCalledTimes(1)
    expect(await once.status('a')).toBe('done')
  })

  test('concurrent callers share the failure of the work', async () => {
    const once = shelf.open()
    const { work, fail } = deferred('sent')
    const results = [once('a', work), once('a', work)]
    fail(NOT_SENT)
    const rejected = { status: 'rejected', reason: NOT_SENT }
    expect(await Promise.allSettled(results)).toEqual([rejected, rejected])
    expect(work).toHaveBeenCalledTimes(1)
  })

  test('the work may run again after a ToolError', async () => {
    const once = shelf.open()
    await expect(once('a', () => Promise.reject(NOT_SENT))).rejects.toBe(NOT_SENT)
    expect(await once.status('a')).toBe('absent')
    expect(await once('a', () => 'sent')).toBe('sent')
  })

  test('work that a crash cut off is in doubt, and does not run again by itself', async () => {
    const before = deferred('sent')
    void shelf.open()('a', before.work)
    await eventually(() => expect(before.work).toHaveBeenCalled())
    const once = shelf.open()
    const { effect, count } = counter()
    expect(await once.status('a')).toBe('started')
    await expect(once('a', effect)).rejects.toMatchObject(IN_DOUBT)
    await expect(once('a', effect)).rejects.toMatchObject(IN_DOUBT)
    expect(count()).toBe(0)
  })

  test('after any other error the work is in doubt, and the error is the cause', async () => {
    const once = shelf.open()
    const lost = new Error('Network connection lost.')
    const { effect, count } = counter()
    await expect(once('a', () => Promise.reject(lost))).rejects.toMatchObject({ ...IN_DOUBT, cause: lost })
    await expect(once('a', effect)).rejects.toMatchObject(IN_DOUBT)
    expect([count(), await once.status('a')]).toEqual([0, 'started'])
  })

  test('the work can declare itself in doubt', async () => {
    const once = shelf.open()
    const doubt = new ToolError('The service gave no answer.', { code: 'in_doubt' })
    await expect(once('a', () => Promise.reject(doubt))).rejects.toBe(doubt)
    await expect(once('a', () => 'sent')).rejects.toMatchObject(IN_DOUBT)
  })

  describe('a key in doubt', () => {
    beforeEach(async () => {
      await expect(shelf.open()('a', () => Promise.reject(new Error('cut')))).rejects.toThrow()
    })

    test('that turns out to be done is done', async () => {
      const { effect, count } = counter()
      const onDoubt = vi.fn(async () => ({ status: 'done' as const, result: { effects: 7 } }))
      expect(await shelf.open()('a', effect, { onDoubt })).toEqual({ effects: 7 })
      expect(await shelf.open()('a', effect, { onDoubt })).toEqual({ effects: 7 })
      expect(onDoubt.mock.calls).toEqual([['a']])
      expect(count()).toBe(0)
    })

    test('that turns out not to have run runs, once for all callers', async () => {
      const once = shelf.open()
      const { effect, count } = counter()
      const onDoubt = vi.fn(async () => ({ status: 'absent' as const }))
      const results = [once('a', effect, { onDoubt }), once('a', effect, { onDoubt })]
      expect(await Promise.all(results)).toEqual([{ effects: 1 }, { effects: 1 }])
      expect(await once('a', effect, { onDoubt })).toEqual({ effects: 1 })
      expect([onDoubt.mock.calls.length, count()]).toEqual([1, 1])
    })

    test('without evidence stays in doubt', async () => {
      const once = shelf.open()
      const down = new Error('The service is down.')
      await expect(once('a', () => 'sent', { onDoubt: () => Promise.reject(down) })).rejects.toBe(down)
      expect(await once.status('a')).toBe('started')
    })
  })

  test('a result over 1 MiB is returned, and later only that the work was done', async () => {
    const long = 'ä'.repeat(600 * 1024)
    const once = shelf.open()
    expect(await once('a', () => long)).toBe(long)
    await expect(once('a', () => long)).rejects.toMatchObject({ code: 'result_not_kept' })
    expect(await once.status('a')).toBe('done')
  })

  test('a result without a JSON form is an error, and the work does not run again', async () => {
    const once = shelf.open()
    await expect(once<unknown>('a', () => 10n)).rejects.toThrow(TypeError)
    await expect(once('a', () => 'again')).rejects.toMatchObject({ code: 'result_not_kept' })
  })

  test('a key is remembered for seven days after its end', async () => {
    const once = shelf.open()
    const { effect } = counter()
    await once('a', effect)
    now += 7 * DAY - 1
    expect(await once('a', effect)).toEqual({ effects: 1 })
    now += 1
    expect(await once.status('a')).toBe('absent')
    expect(await once('a', effect)).toEqual({ effects: 2 })
  })
})

test('in SQLite, old keys are dropped when a new one comes', async () => {
  const { open, database } = sqlShelf()
  const once = open()
  for (const key of ['a', 'b', 'c']) await once(key, () => key)
  await expect(once('d', () => Promise.reject(new Error('cut')))).rejects.toThrow()
  now += 7 * DAY
  await once('e', () => 'e')
  expect(database.prepare('SELECT key FROM once').all()).toEqual([{ key: 'e' }])
})

test('in SQLite, a key is stored before its work begins', async () => {
  const { open, database } = sqlShelf()
  const rows = () => database.prepare('SELECT key, state FROM once').all()
  expect(await open()('a', rows)).toEqual([{ key: 'a', state: 'started' }])
  expect(rows()).toEqual([{ key: 'a', state: 'done' }])
})

test('in KV, no key is written twice in a row or forgotten early', async () => {
  const { open, values } = kvShelf()
  await open()('a', () => 'sent')
  expect([...values]).toEqual([
    ['once:started:a', { value: '1', expires: now + 7 * DAY }],
    ['once:done:a', { value: '{"result":"sent"}', expires: now + 7 * DAY }],
  ])
})

test('a failure to store the end does not fail finished work, and leaves its key in doubt', async () => {
  const errorLog = vi.spyOn(console, 'error').mockImplementation(() => {})
  const values = new Map<string, string>()
  const once = onceInKv({
    get: async (key) => values.get(key) ?? null,
    put: async (key, value) => {
      if (key.startsWith('once:done:')) throw new Error('KV PUT failed: 429 Too Many Requests')
      values.set(key, value)
    },
    delete: () => Promise.reject(new Error('KV DELETE failed: 429 Too Many Requests')),
  })
  expect(await once('a', () => 'sent')).toBe('sent')
  await expect(once('a', () => 'sent')).rejects.toMatchObject(IN_DOUBT)
  await expect(once('b', () => Promise.reject(NOT_SENT))).rejects.toBe(NOT_SENT)
  expect(errorLog.mock.calls.map(([text]) => text)).toEqual([
    'once: the outcome for the key "a" could not be stored',
    'once: the outcome for the key "b" could not be stored',
  ])
  errorLog.mockRestore()
})

describe('`once.sync`', () => {
  let database: DatabaseSync
  let once: SqlOnce
  beforeEach(() => {
    database = new DatabaseSync(':memory:')
    database.exec('CREATE TABLE effects (name TEXT)')
    once = onceInSql(memoryStorage(database), { now: clock })
  })

  const add = (name: string) => {
    database.prepare('INSERT INTO effects VALUES (?)').run(name)
    return { name, of: effects().length }
  }
  const effects = () =>
    database
      .prepare('SELECT name FROM effects')
      .all()
      .map((row) => row['name'])

  test('runs once, and keeps the result', async () => {
    expect(once.sync('a', () => add('tea'))).toEqual({ name: 'tea', of: 1 })
    expect(once.sync('a', () => add('coffee'))).toEqual({ name: 'tea', of: 1 })
    expect(effects()).toEqual(['tea'])
    expect(await once.status('a')).toBe('done')
  })

  test('commits its key and what it wrote together, or neither', async () => {
    const failing = () => {
      add('tea')
      throw new Error('The disk is full.')
    }
    expect(() => once.sync('a', failing)).toThrow('The disk is full.')
    expect(() => once.sync<unknown>('a', () => ({ ...add('tea'), price: 10n }))).toThrow(TypeError)
    expect([effects(), await once.status('a')]).toEqual([[], 'absent'])
    expect(once.sync('a', () => add('tea'))).toEqual({ name: 'tea', of: 1 })
  })

  test('refuses asynchronous work', async () => {
    expect(() => once.sync('a', async () => add('tea'))).toThrow(TypeError)
    expect([effects(), await once.status('a')]).toEqual([[], 'absent'])
  })

  test('throws for a key in doubt that was started asynchronously', async () => {
    await expect(once('a', () => Promise.reject(new Error('cut')))).rejects.toThrow()
    expect(() => once.sync('a', () => add('tea'))).toThrow(expect.objectContaining(IN_DOUBT))
  })
})
