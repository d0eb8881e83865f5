import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { StoredKey } from '../../src/contract/api-key.ts'
import type { Caller, Tool } from '../../src/contract/tool.ts'
import { failure } from '../../src/contract/tool.ts'
import { apiKey } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

/** What becomes of a run when it continues after the key that started it has changed. */
const CALLER: Caller = { tenant: 'acme', key: 'owner', scopes: ['chat', 'finance'] }
const owner = (extra: object = {}) => apiKey('owner', { id: 'owner', scopes: CALLER.scopes, ...extra })
const START = Date.UTC(2026, 0, 1)

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START }))
afterEach(() => void vi.useRealTimers())

/** A conversation whose tools need the scope `finance`, and the keys of its edge, which may change. */
function conversation(tools: readonly Tool[], answers: readonly ReturnType<typeof say>[], isKept?: () => boolean) {
  const script = [...answers]
  const vars = { AUTH: 'keys', API_KEYS: [owner()] as object[] }
  const talk = new TestConversation(() => script.shift() ?? say('Done.'), tools, vars, REPORTS)
  talk.toolsOf = ({ scopes }) => (scopes.includes('finance') ? tools : [])
  if (isKept) talk.keyStates = { isDisabled: async () => !isKept(), used: async () => {} }
  /** Deploys an edge that has these keys. */
  const deploy = (...keys: object[]) => {
    vars.API_KEYS = keys
    talk.live()
  }
  return { talk, deploy }
}

const REPORTS = {
  make: async () => ({ token: 'x' }),
  read: async () => undefined,
  filter: undefined,
}
const request = { caller: CALLER }

const refuse = async () => Promise.reject(new Error('unused'))
const NO_KEYS = { find: refuse, read: refuse, change: refuse, list: refuse }

async function record(talk: TestConversation, name: string) {
  const reply = await talk.object.record(runId(name), 10_000)
  if (!reply.ok) throw new Error(reply.code)
  return reply.record
}

/** The ways in which a run continues: what it waits for, and what has it continue. */
const WAYS: Readonly<
  Record<
    string,
    { readonly terms: object; readonly resume: (talk: TestConversation, call: string) => Promise<unknown> }
  >
> = {
  'an approval': {
    terms: { approval: 'always' },
    resume: (talk, call) => talk.object.answer(runId('a'), { [call]: { decision: 'approve' } }),
  },
  'a reported outcome': {
    terms: { later: true },
    resume: (talk, call) => {
      const outcome = { ok: true, content: [{ type: 'text', text: 'private' }] } as const
      return talk.object.report(runId('a'), call, { outcome })
    },
  },
  'a poll': { terms: { later: true }, resume: async (talk) => (await talk.ring(), talk.ring()) },
}

describe.each(Object.entries(WAYS))('a run that continues after %s', (way, { terms, resume }) => {
  async function play(keys: readonly object[]) {
    const calls: string[] = []
    const later = { ...failure('later', 'Later.'), later: { within: 60_000, ...(way === 'a poll' && { poll: 1000 }) } }
    const pay: Tool = {
      ...tool('pay', () => (calls.push('call'), way === 'an approval' ? 'private' : later), terms),
      ...(way === 'a poll' && {
        poll: async () => (calls.push('poll'), { ok: true, content: [{ type: 'text', text: 'private' }] } as const),
      }),
    }
    const { talk, deploy } = conversation([pay], [ask(['pay'])])
    await talk.start('a', { request })
    const {
      calls: [call],
    } = await record(talk, 'a')
    const before = calls.length
    deploy(...keys)
    await resume(talk, call?.id ?? '')
    const { status, error, calls: settledCalls } = await record(talk, 'a')
    const outcomes = settledCalls.map((each) => each.error?.code ?? each.ok)
    return {
      status,
      error,
      outcomes,
      calls: calls.slice(before),
      read: JSON.stringify(talk.requests).includes('private'),
    }
  }

  test('does so if its key is as it was', async () => {
    const call = { 'an approval': ['call'], 'a poll': ['poll'] }[way] ?? []
    const result = { status: 'completed', error: undefined, outcomes: [true], calls: call, read: true }
    expect(await play([owner()])).toEqual(result)
  })

  test('does not call or read what its key may not any more', async () => {
    const result = { status: 'completed', error: undefined, outcomes: ['tool_not_allowed'], calls: [], read: false }
    expect(await play([owner({ scopes: ['chat'] })])).toEqual(result)
  })

  const code = 'run_not_allowed'
  const REMOVED = { code, message: 'The key that started this run does not exist any more.' }
  test.each([
    ['has been removed', [], REMOVED],
    ['is one of another tenant', [owner({ tenant: 'ops' })], REMOVED],
    ['has expired', [owner({ expires: 1 })], { code, message: 'The key that started this run has expired.' }],
    [
      'has lost the scope to chat',
      [owner({ scopes: ['finance'] })],
      { code, message: 'The key that started this run has no scope "chat" now.' },
    ],
  ])('fails, and says so, if its key %s', async (_, keys, error) => {
    expect(await play(keys)).toEqual({ status: 'failed', error, outcomes: ['cancelled'], calls: [], read: false })
  })
})

describe('a run whose key has been removed fails, and asks no model,', () => {
  const error = { code: 'run_not_allowed' }

  test('when its turn comes', async () => {
    const { talk, deploy } = conversation([tool('pay', () => 'x', { approval: 'always' })], [ask(['pay'])])
    await talk.start('a', { request })
    await record(talk, 'a')
    await talk.start('b', { request })
    deploy()
    await talk.object.cancel(runId('a'))
    expect(await record(talk, 'b')).toMatchObject({ status: 'failed', error })
    expect(talk.requests).toHaveLength(1)
  })

  test('when it resumes after its object was lost during a call, which is not made again', async () => {
    const attempts: string[] = []
    const start = Promise.withResolvers<void>()
    const look = tool('look', () => (attempts.push('look'), start.resolve(), new Promise<never>(() => {})), {
      annotations: { readOnly: true, idempotent: true },
    })
    const { talk, deploy } = conversation([look], [ask(['look'])])
    await talk.start('a', { request })
    await start.promise
    deploy()
    await settle()
    expect(await record(talk, 'a')).toMatchObject({ status: 'failed', error })
    expect([talk.requests.length, attempts]).toEqual([1, ['look']])
  })

  test('when it is retried after it was parked', async () => {
    const { talk, deploy } = conversation([tool('pay', () => 'x', { approval: 'always' })], [ask(['pay'])])
    await talk.start('a', { request })
    await record(talk, 'a')
    talk.store.runs.setStatus(runId('a'), 'parked')
    deploy()
    await talk.object.retry(runId('a'))
    await talk.object.answer(runId('a'), { [`call_${runId('a').slice(4)}_1_0`]: { decision: 'approve' } })
    expect(await record(talk, 'a')).toMatchObject({ status: 'failed', error })
    expect(talk.requests).toHaveLength(1)
  })
})

test('a run is not continued while nobody can tell whether its key is disabled, and then is', async () => {
  let isKept: (() => boolean) | undefined
  const states = () => {
    if (isKept) return isKept()
    throw new Error('KV is down')
  }
  const { talk, deploy } = conversation([tool('pay', () => 'paid', { approval: 'always' })], [ask(['pay'])], states)
  await talk.start('a', { request })
  const {
    calls: [call],
  } = await record(talk, 'a')
  deploy(owner())
  await talk.object.answer(runId('a'), { [call?.id ?? '']: { decision: 'approve' } })
  for (let times = 0; times < 10; times++) await talk.ring()
  expect(talk.reports.at(-1)).toEqual({ event: 'caller.unknown', key: 'owner', detail: 'KV is down' })
  expect(await talk.object.record(runId('a'), 0)).toMatchObject({ record: { status: 'running' } })
  isKept = () => false
  await talk.ring()
  expect(await record(talk, 'a')).toMatchObject({
    status: 'failed',
    error: { code: 'run_not_allowed', message: 'The key that started this run has been disabled.' },
  })
})

test('a caller of an identity provider keeps the scopes that the edge still gives to its callers', async () => {
  const provider = (scopes: object) => ({
    id: 'idp',
    issuer: 'https://idp.example',
    audience: 'a',
    tenant: 'acme',
    scopes,
  })
  const caller = { ...CALLER, key: 'idp:7' }
  const tools = [tool('pay', () => 'paid', { approval: 'always' })]
  const vars = { AUTH: 'keys', IDENTITY_PROVIDERS: [provider({ claim: 'g', map: { a: ['chat'], b: ['finance'] } })] }
  const script = [ask(['pay']), say('Done.'), ask(['pay']), say('Done.')]
  const talk = new TestConversation(() => script.shift() ?? say('Done.'), tools, vars)
  talk.toolsOf = ({ scopes }) => (scopes.includes('finance') ? tools : [])
  for (const [name, outcome] of [
    ['a', true],
    ['b', 'tool_not_allowed'],
  ] as const) {
    await talk.start(name, { request: { caller } })
    const {
      calls: [call],
    } = await record(talk, name)
    if (name === 'b') vars.IDENTITY_PROVIDERS = [provider(['chat'])]
    talk.live()
    await talk.object.answer(runId(name), { [call?.id ?? '']: { decision: 'approve' } })
    const { calls } = await record(talk, name)
    expect(calls.map((each) => each.error?.code ?? each.ok)).toEqual([outcome])
  }
})

describe('a run whose key is stored', () => {
  const stored: StoredKey = {
    ...CALLER,
    id: 'owner',
    sha256: [],
    expires: Infinity,
    disabled: false,
    scopes: CALLER.scopes,
  }

  async function play(change: () => StoredKey | undefined) {
    let current: (() => StoredKey | undefined) | undefined
    const find = async () => (current ?? (() => stored))()
    const { talk, deploy } = conversation([tool('pay', () => 'paid', { approval: 'always' })], [ask(['pay'])])
    talk.storedKeys = { ...NO_KEYS, load: find, recent: () => stored }
    await talk.start('a', { request })
    const {
      calls: [call],
    } = await record(talk, 'a')
    current = change
    deploy()
    await talk.object.answer(runId('a'), { [call?.id ?? '']: { decision: 'approve' } })
    return talk
  }

  test('continues as the key may now', async () => {
    expect(await record(await play(() => stored), 'a')).toMatchObject({ status: 'completed', calls: [{ ok: true }] })
    expect(await record(await play(() => ({ ...stored, scopes: ['chat'] })), 'a')).toMatchObject({
      status: 'completed',
      calls: [{ error: { code: 'tool_not_allowed' } }],
    })
  })

  test.each([
    ['is disabled', () => ({ ...stored, disabled: true }), 'The key that started this run has been disabled.'],
    ['has expired', () => ({ ...stored, expires: 1 }), 'The key that started this run has expired.'],
    ['was removed', () => undefined, 'The key that started this run does not exist any more.'],
    [
      'is now one of another tenant',
      () => ({ ...stored, tenant: 'ops' }),
      'The key that started this run does not exist any more.',
    ],
  ])('fails if the key %s', async (_, change, message) => {
    const error = { code: 'run_not_allowed', message }
    expect(await record(await play(change), 'a')).toMatchObject({ status: 'failed', error })
  })

  test('waits while the key cannot be read', async () => {
    const talk = await play(() => {
      throw new Error('KV is down')
    })
    await talk.ring()
    expect(talk.reports.at(-1)).toEqual({ event: 'caller.unknown', key: 'owner', detail: 'KV is down' })
    expect(await talk.object.record(runId('a'), 0)).toMatchObject({ record: { status: 'running' } })
  })
})
