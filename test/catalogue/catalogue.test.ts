import { describe, expect, test, vi } from 'vitest'
import type { Change, VersionReply, VersionWrite } from '../../src/contract/catalogue.ts'
import { freezeClock } from '../fixtures/frozen-clock.ts'
import { copiedIndex, copiedTexts } from '../fixtures/kv-copy.ts'
import { testCatalogue } from './object.ts'

const START = Date.UTC(2026, 10, 20)
const by = { tenant: 'acme', key: '0123456789ab' }

freezeClock(START)

/** A write of the version that says `text`; its hash is the text. */
function version(name: string, text: string, rest: Partial<VersionWrite> = {}): VersionWrite {
  return { name, hash: text, text, offered: false, version: '1', action: 'put', by, ...rest }
}

/** Compares by the first letter: another one breaks. */
async function byLetter(before: string, after: string): Promise<Change> {
  return before[0] === after[0]
    ? { change: 'compatible', breaks: [] }
    : { change: 'breaking', breaks: [{ path: 'x', message: `was ${before}` }] }
}

const result = (reply: VersionReply) =>
  reply.ok ? `${reply.status} ${reply.change}` : `${reply.code} ${('current' in reply && reply.current) || 'none'}`

describe('writes', () => {
  test('create versions and return how each differs from the one before it', async () => {
    const { object } = testCatalogue(byLetter)
    const replies: string[] = []
    for (const text of ['a1', 'a1', 'a2', 'b1']) replies.push(result(await object.write(version('t', text))))
    expect(replies).toEqual(['created created', 'replaced unchanged', 'replaced compatible', 'replaced breaking'])
    expect(await object.version('t', 'a1')).toBe('a1')
    expect(await object.version('t', 'c')).toBeUndefined()
    expect(await object.version('other', 'a1')).toBeUndefined()
  })

  test('are listed with author, time and action, newest first, by pages', async () => {
    const { object } = testCatalogue(byLetter)
    await object.write(version('t', 'a1', { version: '1.0.0' }))
    vi.setSystemTime(START + 1000)
    await object.write(version('t', 'b1', { by: { tenant: 'other' } }))
    await object.write(version('u', 'x'))
    await object.remove('t', by)
    await object.write(version('t', 'a1', { action: 'rollback' }))
    const [at, later] = ['2026-11-20T00:00:00.000Z', '2026-11-20T00:00:01.000Z']
    const first = { hash: 'a1', version: '1.0.0', change: 'created', breaks: [], by }
    const breaks = [{ path: 'x', message: 'was a1' }]
    const second = { hash: 'b1', version: '1', change: 'breaking', breaks, by: { tenant: 'other' } }
    expect(await object.history('t', { limit: 9 })).toEqual([
      { revision: START + 1003, action: 'rollback', ...first, at: later },
      { revision: START + 1002, action: 'delete', by, at: later },
      { revision: START + 1000, action: 'put', ...second, at: later },
      { revision: START, action: 'put', ...first, at },
    ])
    expect((await object.history('t', { before: START + 1002, limit: 1 })).map(({ revision }) => revision)).toEqual([
      START + 1000,
    ])
    expect(await object.history('none', { limit: 9 })).toEqual([])
  })

  test.each<[string, readonly string[] | undefined, string, string]>([
    ['nothing', undefined, 'created created', 'replaced compatible'],
    ['any', ['*'], 'version_mismatch none', 'replaced compatible'],
    ['none', [], 'created created', 'version_mismatch a1'],
    ['the right one', ['a0', 'a1'], 'version_mismatch none', 'replaced compatible'],
    ['another one', ['a0'], 'version_mismatch none', 'version_mismatch a1'],
  ])('that expect %s', async (_, expects, first, second) => {
    const { object } = testCatalogue(byLetter)
    expect(result(await object.write(version('t', 'a2', { expects })))).toBe(first)
    await object.remove('t', by)
    await object.write(version('t', 'a1'))
    expect(result(await object.write(version('t', 'a3', { expects })))).toBe(second)
  })

  test('at the same time are ordered: none is lost, and each is compared with the one before it', async () => {
    const compared: string[] = []
    const { object } = testCatalogue(async (before, after) => {
      await Promise.resolve()
      compared.push(`${before}-${after}`)
      return byLetter(before, after)
    })
    const texts = ['a1', 'a2', 'a3', 'a4']
    await Promise.all(texts.map((text) => object.write(version('t', text))))
    const history = (await object.history('t', { limit: 9 })).map(({ hash }) => hash ?? '').reverse()
    expect([...history].sort()).toEqual(texts)
    for (const [index, hash] of history.slice(1).entries()) expect(compared).toContain(`${history[index]}-${hash}`)
  })

  test('that all expect the same version succeed once', async () => {
    const { object } = testCatalogue(byLetter)
    await object.write(version('t', 'a0'))
    const replies = await Promise.all(
      ['a1', 'a2', 'a3'].map((text) => object.write(version('t', text, { expects: ['a0'] }))),
    )
    expect(replies.filter(({ ok }) => ok)).toHaveLength(1)
  })

  test('survive the object', async () => {
    const catalogue = testCatalogue(byLetter)
    await catalogue.object.write(version('t', 'a1'))
    const revived = catalogue.revive()
    expect(result(await revived.write(version('t', 'a2', { expects: ['a1'] })))).toBe('replaced compatible')
  })

  test('that cannot be compared are not stored', async () => {
    const { object } = testCatalogue(() => Promise.reject(new Error('no answer')))
    await object.write(version('t', 'a1'))
    await expect(object.write(version('t', 'a2'))).rejects.toThrow('no answer')
    expect(await object.history('t', { limit: 9 })).toHaveLength(1)
  })
})

describe('the copy in KV', () => {
  test('gets each version, then the index and the search texts, by the alarm', async () => {
    const { object, kv, alarm, settle } = testCatalogue(byLetter)
    await object.write(version('t', 'a1'))
    await object.write(version('t', 'a2'))
    await object.write(version('A', 'x', { offered: true }))
    await object.remove('t', by)
    await object.write(version('u', 'y'))
    expect([kv.operations, alarm()]).toEqual([[], START + 1])
    expect(await settle()).toBe(1)
    const versions = ['put tool:t@a1', 'put tool:t@a2', 'put tool:A@x', 'put tool:u@y']
    expect(kv.operations).toEqual([...versions, 'put tools:index', 'put tools:texts', 'put tools:terms'])
    expect(copiedIndex(kv.stored)).toEqual({ revision: START + 4, offered: ['A'], tools: ['A x', 'u y'] })
  })

  test('is written at most once a second, however many writes there are', async () => {
    const { object, kv, alarm, settle } = testCatalogue(byLetter)
    await object.write(version('t0', 'x'))
    await settle()
    for (let index = 1; index <= 50; index++) {
      vi.setSystemTime(START + index)
      await object.write(version(`t${index}`, 'x'))
    }
    expect(alarm()).toBe(START + 1001)
    expect(await settle()).toBe(2)
    expect(kv.operations.filter((what) => what === 'put tools:index')).toHaveLength(2)
    expect(copiedIndex(kv.stored).tools).toHaveLength(51)
  })

  test('gets writes that came during a copy a second later', async () => {
    const { object, kv, settle } = testCatalogue(byLetter)
    await object.write(version('t', 'a1'))
    const put = kv.put.bind(kv)
    kv.put = async (key, value) => {
      if (key === 'tools:index') await object.write(version('u', 'b1'))
      return put(key, value)
    }
    expect(await settle()).toBeGreaterThan(1)
    expect(Date.now()).toBeGreaterThanOrEqual(START + 1000)
    expect(copiedIndex(kv.stored).tools).toEqual(['t a1', 'u b1'])
  })

  test('names no version in its index before KV has it, even if one alarm cannot write all', async () => {
    const { object, kv, settle } = testCatalogue(byLetter)
    for (let index = 0; index < 1100; index++) await object.write(version(`t${index}`, 'x'))
    const namesIn = (text: string) =>
      copiedIndex(new Map([['tools:index', text]])).tools.map((tool) => tool.split(' ')[0])
    const isComplete: boolean[] = []
    const put = kv.put.bind(kv)
    kv.put = async (key, value) => {
      if (key === 'tools:index') isComplete.push(namesIn(value).every((name) => kv.stored.has(`tool:${name}@x`)))
      return put(key, value)
    }
    expect(await settle()).toBe(4)
    expect(isComplete).toEqual([true, true, true])
    expect(copiedIndex(kv.stored)).toMatchObject({ revision: START + 1099, tools: { length: 1100 } })
  })

  test('is retried while KV fails, and the failure is reported to operators', async () => {
    const { object, kv, alarm, settle, reports } = testCatalogue(byLetter)
    await object.write(version('t', 'a1'))
    kv.failure = new Error('429')
    for (let attempt = 1; attempt <= 20; attempt++) {
      vi.setSystemTime(alarm() ?? 0)
      await object.alarm()
      expect(alarm()).toBe(Date.now() + 10_000)
    }
    expect(reports).toHaveLength(20)
    expect(reports[0]).toEqual({ event: 'catalogue.not_copied', detail: '429' })
    kv.failure = undefined
    await settle()
    expect(copiedIndex(kv.stored).tools).toEqual(['t a1'])
  })

  test('is retried while KV does not answer', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START })
    const { object, kv, alarm, settle, reports } = testCatalogue(byLetter)
    await object.write(version('t', 'a1'))
    vi.setSystemTime(alarm() ?? 0)
    const put = vi.spyOn(kv, 'put').mockReturnValue(new Promise<never>(() => {}))
    const rung = object.alarm()
    await vi.advanceTimersByTimeAsync(30_000)
    await rung
    expect(reports).toEqual([{ event: 'catalogue.not_copied', detail: 'no answer within 30000 ms' }])
    put.mockRestore()
    await settle()
    expect(copiedIndex(kv.stored).tools).toEqual(['t a1'])
  })

  test('is retried if KV refuses the second write of a key in a second, after a restart of the object', async () => {
    const catalogue = testCatalogue(byLetter)
    await catalogue.object.write(version('t', 'a1'))
    await catalogue.object.alarm()
    // The new instance does not know when the index was written.
    const object = catalogue.revive()
    await object.write(version('u', 'b1'))
    await object.alarm()
    const detail = 'KV PUT failed: 429 Too Many Requests'
    expect(catalogue.reports).toEqual([{ event: 'catalogue.not_copied', detail }])
    expect(catalogue.alarm()).toBe(Date.now() + 10_000)
    vi.setSystemTime(Date.now() + 10_000)
    await object.alarm()
    expect(copiedIndex(catalogue.kv.stored).tools).toEqual(['t a1', 'u b1'])
  })

  test('is continued after a restart of the object', async () => {
    const catalogue = testCatalogue(byLetter)
    await catalogue.object.write(version('t', 'a1'))
    expect(catalogue.alarm()).toBe(START + 1)
    await catalogue.revive().alarm()
    expect(copiedIndex(catalogue.kv.stored).tools).toEqual(['t a1'])
  })

  test('is written although its alarm was refused, or lost with the object', async () => {
    const impeded = testCatalogue(byLetter)
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START })
    impeded.refuseAlarms(1)
    await impeded.object.write(version('t', 'a1'))
    expect(impeded.alarm()).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1000)
    expect(impeded.reports).toEqual([{ event: 'alarm.failed', detail: 'The platform refuses the alarm.' }])
    const idle = testCatalogue(byLetter)
    await idle.object.write(version('t', 'a1'))
    idle.loseAlarm()
    await idle.revive().version('t', 'a1')
    for (const { settle, kv } of [impeded, idle]) {
      await settle()
      expect(copiedIndex(kv.stored).tools).toEqual(['t a1'])
    }
  })

  test('needs only a new index after a rollback', async () => {
    const { object, kv, settle } = testCatalogue(byLetter)
    await object.write(version('t', 'a1'))
    await object.write(version('t', 'a2'))
    await settle()
    kv.operations.length = 0
    await object.write(version('t', 'a1', { action: 'rollback' }))
    await settle()
    expect(kv.operations).toEqual(['put tools:index', 'put tools:texts', 'put tools:terms'])
    expect(copiedIndex(kv.stored).tools).toEqual(['t a1'])
  })
})

describe('the search texts', () => {
  const mail = JSON.stringify({ name: 'mail', description: 'Sends “mail”.\nSoon.', tags: ['post'], title: 'Mail' })

  test('are written at most every ten seconds and do not delay the index', async () => {
    const { object, kv, alarm, settle } = testCatalogue(byLetter)
    await object.write(version('mail', mail))
    await settle()
    await object.write(version('news', '{}'))
    vi.setSystemTime(alarm() ?? 0)
    await object.alarm()
    expect([Date.now(), alarm()]).toEqual([START + 1001, START + 11_001])
    vi.setSystemTime(START + 5000)
    await object.write(version('clock', '{}'))
    expect(alarm()).toBe(START + 5001)
    await settle()
    expect(kv.operations.filter((what) => what.startsWith('put tools:'))).toEqual([
      ...['put tools:index', 'put tools:texts', 'put tools:terms', 'put tools:index'],
      ...['put tools:index', 'put tools:texts', 'put tools:terms'],
    ])
    const { revision, tools } = copiedTexts(kv.stored)
    expect([revision, tools.map(({ name }) => name)]).toEqual([START + 5000, ['clock', 'mail', 'news']])
    expect(tools[1]).toEqual({
      ...{ name: 'mail', hash: mail, title: 'Mail', description: 'Sends “mail”.\nSoon.' },
      ...{ parameters: [''], tags: ['post'] },
    })
  })

  test('is continued after a restart of the object', async () => {
    const catalogue = testCatalogue(byLetter)
    catalogue.kv.failsFor = 'tools:texts'
    await catalogue.object.write(version('mail', mail))
    await catalogue.object.alarm()
    catalogue.kv.failsFor = undefined
    vi.setSystemTime(START + 10_000)
    await catalogue.revive().alarm()
    expect(copiedTexts(catalogue.kv.stored).tools).toHaveLength(1)
  })
})
