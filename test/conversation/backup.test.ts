import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import type { BackupReply } from '../../src/contract/backup.ts'
import type { Setup } from '../../src/contract/setup.ts'
import { COPIED_TABLES } from '../../src/conversation/backup/copy.ts'
import { migrate } from '../../src/conversation/store/database.ts'
import { keyName } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { runId, TestConversation } from './object.ts'
import { type ControlledEdge, controlledEdge } from '../security/controlled-edge.ts'

const KEY = 'acme: chat backup'
const CHAT = 'acme: chat'
const APPROVER = 'acme: chat approve'
const APPROVER_ID = keyName('acme-chat-approve')
const OTHER = 'other: chat backup'

const SECRET = { OUTCOME_SECRET: 'signs-what-this-edge-makes' }

function edge(vars: object = SECRET, change?: (setup: Setup) => Setup): ControlledEdge {
  return controlledEdge({
    workers: {
      TOOL_SHOP: [tool('buy', () => 'bought', { approval: 'always' }), tool('look', () => 'x'.repeat(400_000))],
    },
    script: [ask(['look', { shelf: 1 }]), say('Full.'), ask(['buy']), say('Done.'), say('More.')],
    vars: { MAX_RESULT_BYTES: '1000', ...vars },
    keys: [KEY, CHAT, APPROVER, OTHER],
    ...(change && { change }),
  })
}

/** A conversation with a finished run, one that waits for an approval, and a long result. */
async function talk({ as }: ControlledEdge): Promise<string[]> {
  const request = as(KEY)
  await request('/conversations', { json: { id: 'c', ttlSeconds: 600, system: 'Be brief.' } })
  const first = await request('/conversations/c/runs', { json: { input: 'What is on the shelf?' } })
  const second = await request('/conversations/c/runs', { json: { input: 'Buy it.' } })
  expect([first.body.status, second.body.status]).toEqual(['completed', 'waiting'])
  return [first.body.id, second.body.id]
}

const viewsOf = (run: string) => [
  '/conversations/c/messages',
  `/conversations/c/runs/${run}`,
  `/conversations/c/runs/${run}/events`,
  '/conversations/c/usage',
]

/** Returns messages with the marks of those of which nobody knows who has written them; all else as it is. */
function withMarks(body: any): unknown {
  if (!Array.isArray(body)) return body
  return body.map((each) => {
    const byCaller = each.message.role === 'tool' ? { byCaller: true } : {}
    return { ...each, message: { ...each.message, marks: ['untrusted'], ...byCaller } }
  })
}

describe('a copy of a conversation', () => {
  test('that is restored elsewhere has the same messages, runs and events', async () => {
    const [from, to] = [edge(), edge()]
    const [run = ''] = await talk(from)
    const { body: copy, headers } = await from.as(KEY)('/backups/c')
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    expect(await to.as(KEY)('/backups/c', { method: 'PUT', text: copy })).toMatchObject({
      status: 201,
      body: { id: 'c', signed: true },
    })
    for (const path of viewsOf(run).slice(0, 3)) {
      const [original, restored] = [await from.as(KEY)(path), await to.as(KEY)(path)]
      expect(restored.status).toBe(200)
      expect(restored.body).toEqual(original.body)
    }
    expect((await to.as(KEY)('/conversations')).body).toEqual([{ id: 'c' }])
  })

  test('cancels the runs that had not ended, so that no call is made twice', async () => {
    const [from, to] = [edge(), edge()]
    const [, waiting = ''] = await talk(from)
    await to.as(KEY)('/backups/c', { method: 'PUT', text: (await from.as(KEY)('/backups/c')).body })
    expect((await to.as(KEY)(`/conversations/c/runs/${waiting}`)).body).toMatchObject({ status: 'cancelled' })
    expect((await from.as(KEY)(`/conversations/c/runs/${waiting}`)).body).toMatchObject({ status: 'waiting' })
    const next = await to.as(KEY)('/conversations/c/runs', { json: { input: 'And now?' } })
    expect(next.body).toMatchObject({ status: 'completed' })
  })

  test('cancels parked runs too, of a signed copy or another, so that none can be retried', async () => {
    const answers = [ask(['buy'])]
    const from = new TestConversation(
      () => answers.shift() ?? say('Done.'),
      [tool('buy', () => 'x', { approval: 'always' })],
    )
    await from.start('a')
    await from.object.record(runId('a'), 10_000)
    from.store.runs.setStatus(runId('a'), 'parked')
    const { copy = new Uint8Array() } = (await from.object.backup({ do: 'copy' })) as BackupReply
    const caller = { tenant: 'acme', scopes: ['chat'] }
    for (const isSigned of [true, false]) {
      const to = new TestConversation(() => say('Done.'))
      const request = { do: 'restore', id: 'conv_1', caller, copy: copy.slice(), isSigned } as const
      expect(await to.object.backup(request)).toEqual({ ok: true })
      expect(await to.object.record(runId('a'), 0)).toMatchObject({ record: { status: 'cancelled' } })
      expect(await to.object.retry(runId('a'))).toMatchObject({ ok: false, code: 'run_not_parked' })
      expect(to.requests).toEqual([])
    }
  })

  test('copied again is the same, but for the runs that it cancelled', async () => {
    const [from, to] = [edge(), edge()]
    await from.as(KEY)('/conversations', { json: { id: 'c' } })
    await from.as(KEY)('/conversations/c/runs', { json: { input: 'What is on the shelf?' } })
    const { body: copy } = await from.as(KEY)('/backups/c')
    await to.as(KEY)('/backups/c', { method: 'PUT', text: copy })
    expect((await to.as(KEY)('/backups/c')).body).toBe(copy)
  })

  test('takes the place of a deleted conversation, and of none that is there', async () => {
    const { as } = edge()
    await as(KEY)('/conversations', { json: { id: 'c' } })
    const { body: copy } = await as(KEY)('/backups/c')
    const put = () => as(KEY)('/backups/c', { method: 'PUT', text: copy })
    expect(await put()).toMatchObject({ status: 409, body: { code: 'conversation_exists' } })
    await as(KEY)('/conversations/c', { method: 'DELETE' })
    expect((await as(KEY)('/backups/c')).status).toBe(410)
    expect(await put()).toMatchObject({ status: 201 })
    expect((await as(KEY)('/conversations/c/messages')).status).toBe(200)
  })

  test('needs the scope backup, and belongs to the tenant of the key', async () => {
    const { as } = edge()
    await as(KEY)('/conversations', { json: { id: 'c' } })
    expect((await as(CHAT)('/backups/c')).status).toBe(403)
    expect((await as(CHAT)('/backups/d', { method: 'PUT', text: 'x' })).status).toBe(403)
    expect((await as(CHAT)('/backups/c/rewind', { json: { at: '2026-01-01' } })).status).toBe(403)
    expect((await as(OTHER)('/backups/c')).status).toBe(404)
  })

  /** The decisions about the calls of a run, as its events tell them. */
  async function decisions({ as }: ControlledEdge, run: string): Promise<object[]> {
    const { body } = await as(KEY)(`/conversations/c/runs/${run}/events`)
    const lines = String(body).split('\n')
    const events = lines.flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
    return events.filter(({ type }) => type === 'approval.decided')
  }

  /** A conversation in which another key has decided about a call. */
  async function decided(from: ControlledEdge): Promise<{ readonly run: string; readonly copy: string }> {
    const [, run = ''] = await talk(from)
    const { body } = await from.as(KEY)(`/conversations/c/runs/${run}`)
    const path = `/conversations/c/runs/${run}/calls/${body.calls[0].id}`
    expect((await from.as(APPROVER)(path, { json: { decision: 'approve' } })).status).toBe(200)
    expect(await decisions(from, run)).toMatchObject([{ decision: 'approve', by: APPROVER_ID }])
    return { run, copy: (await from.as(KEY)('/backups/c')).body }
  }

  interface Case {
    readonly vars?: object
    readonly change?: (copy: string) => string
    readonly key?: string
    readonly signed?: boolean
  }
  test.each<[string, Case]>([
    ['as the edge made it', { signed: true }],
    ['that is changed', { change: (copy) => copy.replace('Be brief', 'Be quick') }],
    ['without its signature', { change: (copy) => copy.replace(/,"signature":"[^"]*"/, '') }],
    ['with another signature', { change: (copy) => copy.replace(/"signature":"../, '"signature":"__') }],
    ['of another tenant', { key: OTHER }],
    ['of another deployment', { vars: { OUTCOME_SECRET: 'another-secret-than-that' } }],
    ['after the secret was changed', { vars: { OUTCOME_SECRET: `newer,${SECRET.OUTCOME_SECRET}` }, signed: true }],
    ['for an edge without a secret', { vars: {} }],
  ])('%s says what others did only if this deployment signed it', async (_, each) => {
    const { vars, change = (copy) => copy, key = KEY, signed = false } = each
    const [from, to] = [edge(), edge(vars)]
    const { run, copy } = await decided(from)
    expect(await to.as(key)('/backups/c', { method: 'PUT', text: change(copy) })).toMatchObject({
      status: 201,
      body: { id: 'c', signed },
    })
    if (key === OTHER) return expect((await to.as(KEY)('/conversations/c/messages')).status).toBe(404)
    const [decision] = await decisions(to, run)
    expect(decision).toMatchObject({ decision: 'approve', ...(signed && { by: APPROVER_ID }) })
    if (!signed) expect(decision).not.toHaveProperty('by')
    // Its messages and runs are the same, but for the marks of results that nobody vouches for.
    for (const path of viewsOf(run).slice(0, 2)) {
      const { body } = await from.as(KEY)(path)
      expect((await to.as(KEY)(path)).body).toEqual(signed ? body : withMarks(body))
    }
  })

  test('that is restored under another id is not taken for one of that conversation', async () => {
    const [from, to] = [edge(), edge()]
    const { run, copy } = await decided(from)
    expect(await to.as(KEY)('/backups/d', { method: 'PUT', text: copy })).toMatchObject({
      status: 201,
      body: { id: 'd', signed: false },
    })
    expect((await to.as(KEY)(`/conversations/d/runs/${run}`)).body).toMatchObject({ conversation: 'd' })
  })

  test('that is not signed passes the hooks of the edge when a turn of it is run again, with its system text', async () => {
    const [from, accepted] = [edge(), vi.fn()]
    const [run = ''] = await talk(from)
    const { body: copy } = await from.as(KEY)('/backups/c')
    const to = edge({ SYSTEM_PROMPT: 'You sell shoes.' }, (setup) => ({
      ...setup,
      loop: { ...setup.loop, hooks: [{ name: 'guard', accept: accepted }] },
    }))
    await to.as(KEY)('/backups/c', { method: 'PUT', text: copy })
    const regenerate = () => to.as(KEY)(`/conversations/c/runs/${run}/regenerate`, { method: 'POST' })
    accepted.mockReturnValueOnce('Not today.')
    expect(await regenerate()).toMatchObject({ status: 403, body: { code: 'refused', detail: 'Not today.' } })
    expect(to.requests).toEqual([])
    expect((await regenerate()).body).toMatchObject({ status: 'completed' })
    expect(to.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'You sell shoes.\n\nBe brief.' })
    expect(accepted.mock.lastCall?.[0]).not.toHaveProperty('isFromCopy')
  })

  test('with a journal of another shape has the records that its runs ended with', async () => {
    const [from, to] = [edge(), edge()]
    const [run = ''] = await talk(from)
    const { body: copy } = await from.as(KEY)('/backups/c')
    const text = String(copy).replace(/(\{\\"type\\":\\"step\.answered\\".*?\\"calls\\":\[)/, '$1[],')
    expect(text.length).toBe(copy.length + 3)
    await to.as(KEY)('/backups/c', { method: 'PUT', text })
    expect(await to.as(KEY)(`/conversations/c/runs/${run}`)).toMatchObject({
      status: 200,
      body: { id: run, status: 'completed', answer: 'Full.' },
    })
  })

  const line = (value: object) => `${JSON.stringify(value)}\n`
  const HEAD = line({ type: 'conversation', format: 1, id: 'c' })
  const END = line({ type: 'end', rows: 0 })
  test.each([
    ['is empty', '', 'it is not complete'],
    ['broke off', HEAD, 'it is not complete'],
    ['lacks a row', HEAD + line({ type: 'end', rows: 1 }), 'it is not complete'],
    ['is not JSON', 'x', 'line 1 is not JSON'],
    ['begins with a row', END, 'the first line is not that of a conversation'],
    ['is of a newer edge', line({ type: 'conversation', format: 2 }), 'the format is 2, and this edge reads 1'],
    ['goes on after its end', HEAD + END + END, 'line 3 comes after the end'],
    [
      'names another table',
      HEAD + line({ type: 'row', table: 'notices', values: [] }),
      'line 2 is not a row of a table',
    ],
    [
      'names a member of objects',
      HEAD + line({ type: 'row', table: 'constructor', values: [] }),
      'line 2 is not a row',
    ],
    [
      'has an object for a value',
      HEAD + line({ type: 'row', table: 'meta', values: ['a', {}] }),
      'line 2 is not a row',
    ],
    ['names another owner', HEAD + line({ type: 'row', table: 'meta', values: ['owner', '1'] }), 'line 2 is about'],
    [
      'has one row twice',
      HEAD + line({ type: 'row', table: 'joined', values: ['a', 'b', 'c'] }).repeat(2) + line({ type: 'end', rows: 2 }),
      'line 3 cannot',
    ],
  ])('that %s is refused, and nothing is stored', async (_, text, reason) => {
    const { as } = edge()
    const answer = await as(KEY)('/backups/c', { method: 'PUT', text })
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'invalid_copy', detail: expect.stringContaining(reason) },
    })
    expect((await as(KEY)('/conversations/c/messages')).status).toBe(404)
    expect((await as(KEY)('/conversations')).body).toEqual([])
  })

  test('has every column of every table but the notices', () => {
    const database = new DatabaseSync(':memory:')
    migrate(memoryStorage(database))
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all()
    const names = tables.map(({ name }) => String(name)).filter((name) => !name.startsWith('sqlite_'))
    expect(names).toEqual([...COPIED_TABLES.keys(), 'notices'].toSorted())
    for (const [table, columns] of COPIED_TABLES) {
      const all = database.prepare('SELECT name FROM pragma_table_info(?)').all(table)
      expect([...columns].toSorted()).toEqual(all.map(({ name }) => String(name)).toSorted())
    }
  })
})
