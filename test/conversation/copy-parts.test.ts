import { createHash } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { COPIED_TABLES } from '../../src/conversation/backup/copy.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type ControlledEdge, type ControlledEdgeOptions, controlledEdge } from '../security/controlled-edge.ts'

/** Copies of conversations that are too long for one part. */
const KEY = 'acme: chat backup approve'
const OTHER = 'other: chat backup'
const SECRET = 'signs-what-this-edge-makes'
const LONG = 'Ω'.repeat(400_000)

afterEach(() => void vi.useRealTimers())

function edge(vars: object = {}, script: ControlledEdgeOptions['script'] = []): ControlledEdge {
  return controlledEdge({
    workers: {
      TOOL_SHOP: [tool('buy', () => 'bought', { approval: 'always' }), tool('look', () => 'x'.repeat(300_000))],
    },
    script,
    vars: { MAX_RESULT_BYTES: '1000', OUTCOME_SECRET: SECRET, ...vars },
    keys: [KEY, OTHER],
  })
}

const run = ({ as }: ControlledEdge, input: string, more: object = {}) =>
  as(KEY)('/conversations/c/runs', { json: { input, ...more } })

/** An edge with a conversation of about 16 MB: runs with long texts, and one that waits for a person. */
async function longTalk(more: ControlledEdgeOptions['script'] = []): Promise<{ from: ControlledEdge; runs: string[] }> {
  const script = [ask(['look', { shelf: 1 }]), say('Full.'), ...Array.from({ length: 10 }, () => say(LONG.slice(0, 9)))]
  const from = edge({}, [...script, ask(['buy']), ...more])
  await from.as(KEY)('/conversations', { json: { id: 'c', system: 'Be brief.' } })
  const runs: string[] = []
  runs.push((await run(from, 'What is on the shelf?')).body.id)
  for (let count = 0; count < 10; count++) runs.push((await run(from, `${count} ${LONG}`)).body.id)
  const waiting = await run(from, 'Buy it.')
  expect(waiting.body.status).toBe('waiting')
  return { from, runs: [...runs, waiting.body.id] }
}

/** Returns the parts of a copy. */
function partsOf(copy: string): string[] {
  return copy.split(/(?<=\n)(?=\{"type":"conversation")/)
}

const endOf = (part: string): any => JSON.parse(part.trimEnd().split('\n').at(-1) ?? '')

/** Returns a copy without what differs between two copies of the same conversation: the places, and signatures. */
function withoutPlaces(copy: string): string {
  return copy.replaceAll(/,"(?:next|signature)":"[^"]*"/g, '')
}

const restoreWith = ({ as }: ControlledEdge, text: string, key = KEY) => as(key)('/backups/c', { method: 'PUT', text })

/** Restores parts one by one, and returns the answers. */
async function restoreEach(to: ControlledEdge, parts: readonly string[], key = KEY): Promise<unknown[]> {
  const answers = []
  for (const part of parts) {
    const { status, body } = await restoreWith(to, part, key)
    answers.push([status, body.code ?? body])
  }
  return answers
}

/** Returns the rows of a conversation's tables, with long texts in their place. */
function tablesOf({ conversations }: ControlledEdge, name = 'v1/acme/c'): unknown {
  const { ctx } = conversations.getByName(name) as unknown as { readonly ctx: DurableObjectState }
  const { sql } = ctx.storage
  const own = new Set<unknown>(['owner', 'restore', 'bytes', 'idle', 'full'])
  const textOf = (value: unknown) => {
    const [, id] = /^@(\d+)\//.exec(String(value)) ?? []
    if (id === undefined) return value
    const rows = sql.exec<{ text: string }>('SELECT text FROM chunks WHERE id = ? ORDER BY part', Number(id)).toArray()
    return rows.map(({ text }) => text).join('')
  }
  return Object.fromEntries(
    [...COPIED_TABLES.keys()]
      .filter((table) => table !== 'chunks')
      .map((table) => [
        table,
        sql
          .exec(`SELECT * FROM ${table}`)
          .toArray()
          .filter((row) => !own.has(row['key']))
          .map((row) => Object.entries(row).map(([column, value]) => [column, textOf(value)])),
      ]),
  )
}

describe('a copy in parts', () => {
  let talk: Awaited<ReturnType<typeof longTalk>>
  let copy: string
  let parts: string[]
  /** Those of another conversation with the same id. */
  let other: string[]
  beforeAll(async () => {
    other = partsOf((await (await longTalk()).from.as(KEY)('/backups/c')).body)
    talk = await longTalk()
    copy = (await talk.from.as(KEY)('/backups/c')).body
    parts = partsOf(copy)
  })

  test('has parts that each name the one before, of which none is long', () => {
    expect(parts.length).toBeGreaterThan(3)
    for (const [index, part] of parts.entries()) {
      expect(Buffer.byteLength(part)).toBeLessThan(6 * 1024 * 1024)
      expect(JSON.parse(part.split('\n')[0] ?? '')).toEqual({
        ...{ type: 'conversation', format: 2, id: 'c', part: index + 1 },
        ...(index > 0 && { after: expect.stringMatching(/^[\da-f]{64}$/) }),
      })
      expect(endOf(part)).toEqual({
        ...{ type: 'end', rows: part.split('\n').length - 3 },
        ...(index + 1 < parts.length && { next: expect.any(String) }),
        signature: expect.any(String),
      })
    }
  })

  test('continues after any part of it', async () => {
    for (const [index, part] of parts.slice(0, -1).entries()) {
      const { next } = endOf(part)
      const { body: rest } = await talk.from.as(KEY)(`/backups/c?after=${next}`)
      expect(rest).toBe(parts.slice(index + 1).join(''))
    }
  })

  test('does not continue at a place that was made for another conversation, tenant or edge, or was changed', async () => {
    const { next } = endOf(parts[0] ?? '')
    const { as } = talk.from
    await as(KEY)('/conversations', { json: { id: 'd' } })
    await as(OTHER)('/conversations', { json: { id: 'c' } })
    const answers = [
      await as(KEY)(`/backups/d?after=${next}`),
      await as(OTHER)(`/backups/c?after=${next}`),
      await as(KEY)(`/backups/c?after=${next.slice(0, -2)}xx`),
      await as(KEY)(`/backups/c?after=${next.replace(/^.../, 'eyI')}`),
      await as(KEY)('/backups/c?after=x'),
      await as(KEY)('/backups/c?after='),
    ]
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(answers.map(() => [400, 'invalid_request']))
  })

  test.each([
    ['in one request', () => [copy]],
    ['part by part', () => parts],
  ])('that is restored %s has the same rows, and copied again the same bytes', async (_, bodies) => {
    const to = edge()
    const answers = await restoreEach(to, bodies())
    expect(answers.at(-1)).toEqual([201, { id: 'c', signed: true }])
    expect(answers.slice(0, -1)).toEqual(
      bodies()
        .slice(0, -1)
        .map((__, index) => [202, { id: 'c', signed: true, part: index + 1 }]),
    )
    for (const id of talk.runs.slice(0, -1)) {
      for (const path of [`/conversations/c/runs/${id}`, `/conversations/c/runs/${id}/events`])
        expect((await to.as(KEY)(path)).body).toEqual((await talk.from.as(KEY)(path)).body)
    }
    const view = async ({ as }: ControlledEdge) => (await as(KEY)('/conversations/c/messages')).body
    expect(await view(to)).toEqual(await view(talk.from))
    expect((await to.as(KEY)(`/conversations/c/runs/${talk.runs.at(-1)}`)).body).toMatchObject({ status: 'cancelled' })
    expect((await to.as(KEY)('/conversations')).body).toEqual([{ id: 'c' }])
    const nextCopy = await to.as(KEY)('/backups/c')
    const third = edge()
    await restoreEach(third, partsOf(nextCopy.body))
    expect(withoutPlaces((await third.as(KEY)('/backups/c')).body)).toBe(withoutPlaces(nextCopy.body))
    expect(tablesOf(third)).toEqual(tablesOf(to))
  })

  test('cannot be used before its last part, and is not listed', async () => {
    const to = edge({}, [say('Hi.')])
    await restoreEach(to, parts.slice(0, -1))
    const restoring = (answer: { status: number; body: any }) => [answer.status, answer.body.code]
    const request = to.as(KEY)
    const answers = [
      await request('/conversations/c/messages'),
      await request('/conversations/c/export'),
      await request('/backups/c'),
      await request(`/conversations/c/runs/${talk.runs[0]}`),
      await request(`/conversations/c/runs/${talk.runs[0]}/regenerate`, { method: 'POST' }),
      await request('/conversations/c/runs', { json: { input: 'Hi' } }),
      await request('/conversations/c/fork', { json: { at: 1_000_000 } }),
      await request('/v1/chat/completions', {
        json: { model: 'test/scripted', messages: [{ role: 'user', content: 'Hi' }] },
        headers: { 'x-conversation-id': 'c' },
      }),
    ]
    expect(answers.slice(0, -1).map(restoring)).toEqual(answers.slice(0, -1).map(() => [409, 'conversation_restoring']))
    expect((await request('/conversations')).body).toEqual([])
    await to.conversations.getByName('v1/acme/c').alarm()
    expect(to.requests.filter(({ messages }) => JSON.stringify(messages).includes('shelf'))).toEqual([])
    expect(await restoreEach(to, parts.slice(-1))).toEqual([[201, { id: 'c', signed: true }]])
    expect((await request('/conversations/c/messages')).status).toBe(200)
  })

  test('is refused from the part that does not follow the one before', async () => {
    const to = edge()
    const [first = '', second = '', third = ''] = parts
    const other = partsOf((await (await longTalk()).from.as(KEY)('/backups/c')).body)
    const outOfOrder = [409, 'copy_out_of_order']
    expect(await restoreEach(to, [second, first, third, other[1] ?? '', second, other[2] ?? '', third])).toEqual([
      outOfOrder,
      [202, { id: 'c', signed: true, part: 1 }],
      outOfOrder,
      outOfOrder,
      [202, { id: 'c', signed: true, part: 2 }],
      outOfOrder,
      [202, { id: 'c', signed: true, part: 3 }],
    ])
  })

  test('is sent again from where it broke off: known parts change nothing', async () => {
    const to = edge()
    const [first = '', second = ''] = parts
    const at = (part: number) => [202, { id: 'c', signed: true, part }]
    expect(await restoreEach(to, [first, first, second, second, first])).toEqual([at(1), at(1), at(2), at(2), at(2)])
    const rest = await restoreEach(to, parts.slice(2))
    expect(rest.at(-1)).toEqual([201, { id: 'c', signed: true }])
    // The answer to the last part was lost.
    expect(await restoreEach(to, parts.slice(-1))).toEqual([[201, { id: 'c', signed: true }]])
    expect(await restoreEach(to, [first])).toEqual([[409, 'conversation_exists']])
    expect((await to.as(KEY)('/conversations/c/usage')).body.runs).toBe(11)
  })

  test('takes the place of another one that was not completed', async () => {
    const to = edge()
    await restoreEach(to, other.slice(0, 2))
    expect((await restoreEach(to, parts)).at(-1)).toEqual([201, { id: 'c', signed: true }])
    expect((await to.as(KEY)(`/conversations/c/runs/${talk.runs[0]}`)).status).toBe(200)
  })

  test.each<[string, (parts: readonly string[]) => string[]]>([
    [
      'a part without its signature',
      ([a = '', b = '', ...rest]) => [a, b.replace(/,"signature":"[^"]*"/, ''), ...rest],
    ],
    ['a part that says it is the last', ([a = '', b = '']) => [a, b.replace(/,"next":"[^"]*"/, '')]],
    ['a part with another text', ([a = '', b = '', ...rest]) => [a, b.replace('ΩΩ', 'ΩX'), ...rest]],
    ['a part that names another place', ([a = '', b = '']) => [a, b.replace(/"next":"e/, '"next":"f')]],
    ['a part of which lines are missing', ([a = '', b = '']) => [a, b.replace(/(?<=\n)\{"type":"text".*\n/, '')]],
  ])('that was signed at first, with %s, is refused, and continues with the true part', async (_, forge) => {
    const to = edge()
    const answers = await restoreEach(to, forge(parts).slice(0, 2))
    expect(answers).toEqual([
      [202, { id: 'c', signed: true, part: 1 }],
      [422, 'invalid_copy'],
    ])
    expect((await to.as(KEY)('/conversations/c/messages')).status).toBe(409)
    expect((await restoreEach(to, parts.slice(1))).at(-1)).toEqual([201, { id: 'c', signed: true }])
  })

  test.each<[string, (parts: readonly string[]) => string, number, string]>([
    ['broke off within a part', ([a = '', b = '']) => a + b.slice(0, -100), 422, 'invalid_copy'],
    ['broke off after a part', ([a = '', b = '']) => a + b, 202, ''],
    ['continues after its last part', (all) => all.join('') + (all[0] ?? ''), 400, 'invalid_request'],
    ['lacks a part', ([a = '', , c = '']) => a + c, 409, 'copy_out_of_order'],
    ['has a part twice', ([a = '', b = '']) => a + b + b, 202, ''],
  ])('that %s is not complete', async (_, change, status, code) => {
    const to = edge()
    const answer = await restoreWith(to, change(parts))
    expect([answer.status, answer.body.code ?? '']).toEqual([status, code])
    expect((await to.as(KEY)('/conversations/c/messages')).status).toBe(409)
    expect((await to.as(KEY)('/conversations')).body).toEqual([])
  })

  test.each<[string, (first: string) => string, ControlledEdge, string]>([
    ['that is changed', (first) => first.replace('Be brief', 'Be quick'), edge(), KEY],
    ['of another tenant', (first) => first, edge(), OTHER],
    ['of another deployment', (first) => first, edge({ OUTCOME_SECRET: 'another-secret-than-that' }), KEY],
    ['for an edge without a secret', (first) => first, edge({ OUTCOME_SECRET: undefined }), KEY],
  ])('%s is restored as data of the key that brings it, in each of its parts', async (_, change, to, key) => {
    const [first = '', ...rest] = parts
    // A changed part has another digest, which the next one must name.
    const changed = change(first)
    const bodies = changed === first ? parts : relinked([changed, ...rest])
    const answers = await restoreEach(to, bodies, key)
    expect(answers.at(-1)).toEqual([201, { id: 'c', signed: false }])
    const { body: messages } = await to.as(key)('/conversations/c/messages')
    expect(messages.map(({ message }: any) => message.marks)).toEqual(messages.map(() => ['untrusted']))
    expect(messages.length).toBeGreaterThan(20)
    const tables = JSON.stringify(tablesOf(to, `v1/${key.split(':')[0]}/c`))
    expect(tables).toContain('["key","marks"],["value","[\\"untrusted\\"]"]')
    const { body } = await to.as(key)(`/conversations/c/runs/${talk.runs[1]}`)
    expect(body).toMatchObject({ id: talk.runs[1], status: 'completed' })
  })

  /** Puts the digests of changed parts into the parts after them, as anybody can. */
  function relinked(all: readonly string[]): string[] {
    let digest: string | undefined
    return all.map((part) => {
      const own = digest === undefined ? part : part.replace(/"after":"[^"]*"/, `"after":"${digest}"`)
      digest = sha256(own.slice(0, own.trimEnd().lastIndexOf('\n') + 1))
      return own
    })
  }

  test('is discarded by a deletion, and a day after its last part', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const to = edge()
    const request = to.as(KEY)
    await restoreEach(to, parts.slice(0, 2))
    expect((await request('/conversations/c', { method: 'DELETE' })).status).toBe(204)
    expect((await request('/conversations/c/messages')).status).toBe(404)
    await restoreEach(to, parts.slice(0, 2))
    vi.setSystemTime(Date.now() + 23 * 3_600_000)
    await to.conversations.getByName('v1/acme/c').alarm()
    expect((await request('/conversations/c/messages')).status).toBe(409)
    vi.setSystemTime(Date.now() + 2 * 3_600_000)
    await to.conversations.getByName('v1/acme/c').alarm()
    expect((await request('/conversations/c/messages')).status).toBe(404)
  })

  test('of a conversation that was deleted leaves it deleted if it is not completed', async () => {
    const to = edge()
    const request = to.as(KEY)
    await request('/conversations', { json: { id: 'c' } })
    await request('/conversations/c', { method: 'DELETE' })
    await restoreEach(to, parts.slice(0, 2))
    await request('/conversations/c', { method: 'DELETE' })
    expect((await request('/conversations/c/messages')).status).toBe(410)
    expect((await restoreEach(to, parts)).at(-1)).toEqual([201, { id: 'c', signed: true }])
  })

  test('counts for its tenant while it is restored, and is refused where there is no room', async () => {
    const to = edge({ MAX_STORED_BYTES: String(10 * 1024 * 1024) })
    const answers = await restoreEach(to, parts)
    const refused = answers.findIndex(([status]: any) => status === 507)
    expect(refused).toBeGreaterThan(0)
    expect(answers[refused]).toEqual([507, 'quota_exceeded'])
    expect((await to.as(KEY)('/conversations', { json: { id: 'large', system: 'x'.repeat(200_000) } })).status).toBe(
      507,
    )
    await to.as(KEY)('/conversations/c', { method: 'DELETE' })
    expect((await to.as(KEY)('/conversations', { json: { id: 'large', system: 'x'.repeat(200_000) } })).status).toBe(
      201,
    )
  })
})

describe('a copy of a conversation that continues meanwhile', () => {
  test('shows it as it stood when the copy began', async () => {
    const { from, runs } = await longTalk([say('Bought.'), say('More.'), ask(['buy']), say('Even more.')])
    const { body: whole } = await from.as(KEY)('/backups/c')
    const [first = ''] = partsOf(whole)
    const parts = [first]
    // The run that waited ends, others begin and end between the parts.
    const waiting = (await from.as(KEY)(`/conversations/c/runs/${runs.at(-1)}`)).body
    const changes = [
      () =>
        from.as(KEY)(`/conversations/c/runs/${waiting.id}/calls/${waiting.calls[0].id}`, {
          json: { decision: 'approve' },
        }),
      () => run(from, `More ${LONG}`),
      () => run(from, 'Buy another.'),
    ]
    for (let next = endOf(first).next; next;) {
      expect((await changes.shift()?.())?.status ?? 200).toBeLessThan(300)
      const { body: rest } = await from.as(KEY)(`/backups/c?after=${next}`)
      const [part = ''] = partsOf(rest)
      parts.push(part)
      next = endOf(part).next
    }
    expect(changes).toEqual([])
    const [then, now] = [edge(), edge()]
    await restoreEach(then, partsOf(whole))
    expect((await restoreEach(now, parts)).at(-1)).toEqual([201, { id: 'c', signed: true }])
    const withoutTimes = (tables: unknown) => JSON.stringify(tables).replaceAll(/\d{13}/g, '0')
    expect(withoutTimes(tablesOf(now))).toBe(withoutTimes(tablesOf(then)))
  })

  test('is begun again if a turn of it was replaced', async () => {
    const { from, runs } = await longTalk([say('Another.')])
    const [first = ''] = partsOf((await from.as(KEY)('/backups/c')).body)
    await from.as(KEY)(`/conversations/c/runs/${runs.at(-1)}/cancel`, { method: 'POST' })
    expect((await from.as(KEY)(`/conversations/c/runs/${runs[1]}/regenerate`, { method: 'POST' })).status).toBe(200)
    expect(await from.as(KEY)(`/backups/c?after=${endOf(first).next}`)).toMatchObject({
      status: 409,
      body: { code: 'conversation_changed' },
    })
  })
})

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
