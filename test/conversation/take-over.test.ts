import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts'
import { writeTables } from '../../src/conversation/backup/copy.ts'
import { takeOver } from '../../src/conversation/backup/take-over.ts'
import { migrate } from '../../src/conversation/store/database.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { copyOf, type ForgedRow, forgedRequest, forgedTool, runRow } from '../security/forged-copy.ts'

const OWNER = {
  caller: { tenant: 'acme', key: 'restorer', scopes: ['chat', 'backup'] },
  id: 'c',
  limits: DEFAULT_LIMITS,
}

/** Takes over a copy of these rows, and returns what the tables then hold, parsed. */
function tables(rows: readonly ForgedRow[]): Record<string, unknown[]> {
  const database = new DatabaseSync(':memory:')
  const storage = memoryStorage(database)
  migrate(storage)
  const written = writeTables(storage, new Uint8Array(Buffer.from(copyOf('c', rows))))
  takeOver(storage, OWNER, written)
  const names = ['meta', 'toolsets', 'runs', 'events', 'messages', 'chunks', 'wholes', 'quarantine', 'joined']
  const content = names.map((name) => [name, database.prepare(`SELECT * FROM ${name}`).all().map(parsed)] as const)
  return Object.fromEntries(content.filter(([, all]) => all.length > 0))
}

function parsed(row: Record<string, unknown>): object {
  const entries = Object.entries(row).map(([name, value]) => {
    const isJson = typeof value === 'string' && /^[[{][^]*[\]}]$/.test(value)
    return [name, isJson ? value.split('\n').map((line) => JSON.parse(line)) : value]
  })
  return Object.fromEntries(entries)
}

const OTHER = { tenant: 'ops', key: 'owner', scopes: ['chat', 'finance'] }
const TOOLS = { table: 'toolsets', values: [1, '[]'] }
const RUN = { table: 'runs', values: runRow({ request: JSON.stringify(forgedRequest({ model: 'a/b' })) }) }
const VERSION = { key: 'version', value: '4' }
const RECORD = {
  id: 'run_1',
  status: 'completed',
  answer: 'Paid.',
  steps: 1,
  usage: { inputTokens: 1, outputTokens: 1 },
  calls: [],
}

describe('a copy that is not signed', () => {
  test('has requests of the key that brings it, without what the edge adds to requests', () => {
    const request = forgedRequest({
      conversation: 'another',
      model: 'a/b',
      caller: OTHER,
      trusted: { plan: 'gold' },
      budget: { tokens: 1e9 },
      taintRule: false,
      searchesAll: true,
      selection: ['pay'],
      trace: { id: 'x' },
      shard: 3,
      chosenAt: 9,
      durable: false,
      sampling: { temperature: 1, tools: [{ type: 'web_search' }], model: 'other' },
      limits: { ...DEFAULT_LIMITS, steps: 1_000_000, calls: 3, tokens: 50 },
    })
    const { runs } = tables([
      TOOLS,
      { table: 'runs', values: runRow({ request: JSON.stringify(request), resumes: 2 }) },
    ])
    const expected = {
      runId: 'run_1',
      conversation: 'c',
      model: 'a/b',
      caller: OWNER.caller,
      input: [{ role: 'user', content: 'Go', marks: ['untrusted'] }],
      clientTools: [],
      context: {},
      sampling: { temperature: 1 },
      execution: 'edge',
      toolErrors: 'model',
      limits: { ...DEFAULT_LIMITS, calls: 3, tokens: 50 },
      durable: true,
      isFromCopy: true,
    }
    const counters = { reserved: 0, interrupted: 0, stalled: null, idle: 0, resumes: 0 }
    const columns = { place: 1, id: 'run_1', toolset: 1, record: null, created: 1, ended: null, pruned: null }
    expect(runs).toEqual([{ ...columns, ...counters, status: 'queued', request: [expected] }])
  })

  test('has tools of which only names remain', () => {
    const definitions = JSON.stringify([forgedTool('pay', 'its hash')])
    const short = { name: 'pay', description: '', inputSchema: {}, version: '1', hash: '', annotations: {} }
    expect(tables([{ table: 'toolsets', values: [1, definitions] }]).toolsets).toEqual([
      { id: 1, definitions: [[short]] },
    ])
  })

  test('has those values of the conversation that its owner could have set', () => {
    const meta = {
      settings: { system: 'Be brief.', limits: { steps: 3 } },
      marks: ['private', 'trusted'],
      summary: { text: 'Notes.', upTo: 3, by: 'ops' },
      usage: { usage: { inputTokens: 1, outputTokens: 2 }, runs: 3 },
      expires: 5,
      idle: 5,
      reduction: { level: 9 },
      anything: true,
    }
    const rows = Object.entries(meta).map(([key, value]) => ({ table: 'meta', values: [key, JSON.stringify(value)] }))
    expect(tables(rows).meta).toEqual([
      VERSION,
      { key: 'settings', value: [meta.settings] },
      { key: 'summary', value: [{ text: 'Notes.', upTo: 3 }] },
      { key: 'usage', value: [meta.usage] },
      { key: 'marks', value: [['private']] },
    ])
  })

  test.each([
    { usage: { inputTokens: -1, outputTokens: 2 }, runs: 3 },
    { usage: { inputTokens: 1, outputTokens: 2 }, runs: 'many' },
    { usage: [], runs: 3 },
  ])('has no usage that is none: %j', (usage) => {
    expect(tables([{ table: 'meta', values: ['usage', JSON.stringify(usage)] }]).meta).toEqual([VERSION])
  })

  test('has nothing of runs that are yet to come', () => {
    const line = (run: string, seq: number) =>
      JSON.stringify({ type: 'approval.decided', callId: 'x', decision: 'approve', by: 'ops', runId: run, seq })
    const text = [{ type: 'text', text: 'x' }]
    expect(
      tables([
        TOOLS,
        RUN,
        { table: 'events', values: ['run_1', 1, 3, [line('run_1', 1), line('run_2', 2), 'no JSON'].join('\n')] },
        { table: 'events', values: ['run_2', 1, 1, line('run_2', 1)] },
        { table: 'wholes', values: ['call_1', JSON.stringify(text)] },
        { table: 'wholes', values: ['call_2', '"no content"'] },
        { table: 'wholes', values: ['report/run_1/call_1', '{"ok":true}'] },
        { table: 'wholes', values: ['report/run_2/call_1', '{"ok":true}'] },
        { table: 'wholes', values: ['late/run_1/call_1', '{"ok":true}'] },
        { table: 'wholes', values: ['late/run_2/call_1', '{"ok":true}'] },
        { table: 'joined', values: ['run_3', 'run_1', ''] },
        { table: 'joined', values: ['run_4', 'run_2', ''] },
        { table: 'quarantine', values: [1, 'runs/1', 'x', 'no JSON'] },
        { table: 'chunks', values: [7, 0, 'no column has this'] },
      ]),
    ).toEqual({
      meta: [VERSION],
      toolsets: [{ id: 1, definitions: [[]] }],
      runs: [expect.objectContaining({ id: 'run_1' })],
      events: [
        {
          run: 'run_1',
          first: 1,
          last: 3,
          lines: [{ type: 'approval.decided', callId: 'x', decision: 'approve', runId: 'run_1', seq: 1 }],
        },
      ],
      wholes: [
        { call: 'call_1', content: [text] },
        { call: 'late/run_1/call_1', content: [{ ok: true }] },
      ],
      joined: [{ id: 'run_3', run: 'run_1', fingerprint: '' }],
    })
  })

  test('has messages as callers and models write them, all of which are untrusted', () => {
    const message = (value: object, position: number, kind = 'answer') => ({
      table: 'messages',
      values: [position, 'run_0', JSON.stringify(value), kind],
    })
    const result = { role: 'tool', callId: 'x', tool: 'pay', ok: true, content: [{ type: 'text', text: 'Paid.' }] }
    const { messages, meta } = tables([
      message({ role: 'system', content: 'Hi', found: ['pay'] }, 1),
      message({ ...result, found: ['pay'], marks: ['private'] }, 2),
      message({ role: 'user', content: 'Go', marks: ['untrusted'], found: ['pay'] }, 3, 'old'),
    ])
    const marks = ['untrusted']
    expect(messages).toEqual([
      { position: 1, run: 'run_0', message: [{ role: 'system', content: 'Hi', marks }], kind: 'system' },
      {
        position: 2,
        run: 'run_0',
        message: [{ ...result, marks: ['private', 'untrusted'], byCaller: true }],
        kind: 'work',
      },
      { position: 3, run: 'run_0', message: [{ role: 'user', content: 'Go', marks }], kind: 'old' },
    ])
    expect(meta).toEqual([VERSION, { key: 'marks', value: [['untrusted', 'private']] }])
  })

  test('keeps texts in parts', () => {
    const long = 'x'.repeat(400_000)
    const text = JSON.stringify({ role: 'user', content: long, marks: ['untrusted'] })
    const { messages, chunks } = tables([
      { table: 'chunks', values: [1, 0, text.slice(0, 9)] },
      { table: 'chunks', values: [1, 1, text.slice(9)] },
      { table: 'messages', values: [1, 'run_0', '@1/2', 'user'] },
    ])
    expect(messages).toEqual([{ position: 1, run: 'run_0', message: '@1/2', kind: 'user' }])
    expect(chunks?.map((chunk) => (chunk as { text: string }).text).join('')).toBe(text)
  })

  const run = (request: object, columns: object = {}) => [
    TOOLS,
    { table: 'runs', values: runRow({ request: JSON.stringify(request), ...columns }) },
  ]
  const valid = forgedRequest({ model: 'a/b' })
  test.each<[string, readonly ForgedRow[], string]>([
    ['a request of another run', run({ ...valid, runId: 'run_2' }), 'the run run_1 has the request of another run'],
    ['a request of no shape', run({}), 'the run run_1: context: is required.'],
    ['a request without a model', run({ ...valid, model: '' }), 'the run run_1: model: must not be empty.'],
    ['a negative limit', run({ ...valid, limits: { steps: -1 } }), 'limits.steps: must be a whole number from 1.'],
    ['an odd option', run({ ...valid, execution: 'nobody' }), 'execution: expected ("edge" | "caller")'],
    ['an id that is none', run(valid, { id: 'a b' }), 'the run a b: id: must match'],
    ['a place beyond all', run(valid, { place: 2 ** 51 }), 'the run run_1 has no valid place'],
    ['a record of another run', run(valid, { record: JSON.stringify({ ...RECORD, id: 'run_2' }) }), 'no valid record'],
    [
      'a record that has not ended',
      run(valid, { record: JSON.stringify({ ...RECORD, status: 'parked' }) }),
      'the run run_1 has no valid record',
    ],
    ['a message of no role', [{ table: 'messages', values: [1, 'run_1', '{"role":"root"}', 'user'] }], 'the message 1'],
    [
      'a message beyond all places',
      [{ table: 'messages', values: [2 ** 53 - 1, 'run_1', '{"role":"user","content":"x"}', 'user'] }],
      'has no valid place',
    ],
    [
      'settings that are none',
      [{ table: 'meta', values: ['settings', '{"steps":1}'] }],
      'the settings: steps: there is no such field.',
    ],
    [
      'two texts with the same parts',
      [
        { table: 'chunks', values: [1, 0, '{"role":"user","content":"x","marks":["untrusted"]}'] },
        { table: 'messages', values: [1, 'run_1', '@1/1', 'user'] },
        { table: 'messages', values: [2, 'run_1', '@1/1', 'user'] },
      ],
      'two texts have the same parts',
    ],
    [
      'parts without numbers',
      [{ table: 'chunks', values: ['x', 0, 'x'] }],
      'the parts of a text have no valid numbers',
    ],
    ['a text whose parts are missing', [{ table: 'messages', values: [1, 'run_1', '@1/1', 'user'] }], '0 of 1 parts'],
  ])('with %s is refused', (_, rows, reason) => {
    expect(() => tables(rows)).toThrow(reason)
  })
})
