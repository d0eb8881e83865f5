import fc from 'fast-check'
import { DEFAULT_LIMITS, lowerLimits } from '../../src/contract/limits.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { Caller } from '../../src/contract/tool.ts'
import { Store } from '../../src/conversation/store/store.ts'
import { keyName } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type ControlledEdge, controlledEdge } from './controlled-edge.ts'
import { copyOf, type ForgedRow, forgedRequest, forgedTool, runRow } from './forged-copy.ts'
import { mutated, VALUE } from './fuzz.ts'

/** The keys that restore copies. None of them may decide about calls. */
const KEYS = ['acme: chat backup', 'acme: chat backup finance', 'ops: chat backup'] as const
type Key = (typeof KEYS)[number]
const [, FINANCE, OPS] = KEYS
const WRITER = 'ops: tools:read tools:write'
const HOST = 'api.example.com'
/** Somebody else, as a forged copy names them. */
const CALLER = { tenant: 'ops', key: keyName(OPS.replace(/\W+/g, '-')), scopes: ['chat', 'finance', 'approve'] }

/** An approval that somebody else is said to have given. */
const DECISION = { type: 'approval.decided', callId: 'call_1', decision: 'approve', by: 'ops' }

/** The tools that the model asks for: for all, with approval, for a scope, and stored by the tenant `ops`. */
const TOOLS = ['look', 'pay', 'books', 'ledger'] as const

interface Call {
  readonly tool: (typeof TOOLS)[number]
  /** Absent for a stored tool. */
  readonly caller?: Caller
}

/** An edge with copies of conversations that had calls of all tools. */
export interface CopyWorld {
  readonly edge: ControlledEdge
  readonly copies: readonly string[]
  /** The ids that the runs will have that follow in a conversation with a key: `key id`. */
  readonly nextRuns: ReadonlyMap<string, string>
  /** What has run since the last look. */
  readonly calls: Call[]
}

const CONTENT: readonly ModelEvent[][] = [ask(...TOOLS.map((name): [string] => [name])), say('Done.')]

/** A model that asks for every tool, whatever it is offered, and then is content. */
function greedy() {
  const requests: ModelRequest[] = []
  const stream = async function* (request: ModelRequest) {
    requests.push(request)
    yield* (request.messages.at(-1)?.role === 'tool' ? CONTENT[1] : CONTENT[0]) ?? []
  }
  return { name: 'test/scripted', requests, stream }
}

export async function copyWorld(): Promise<CopyWorld> {
  const calls: Call[] = []
  const recorder = (name: 'look' | 'pay' | 'books', definition: object = {}) =>
    tool(name, (_, { caller }) => (calls.push({ tool: name, caller }), 'x'), definition)
  const edge = controlledEdge({
    model: greedy(),
    workers: { TOOL_SHOP: [recorder('look'), recorder('pay', { approval: 'always' }), recorder('books')] },
    vars: {
      OUTCOME_SECRET: 'signs-what-this-edge-makes',
      TOOL_POLICY: { books: { scopes: ['finance'] } },
      HTTP_TOOL_HOSTS: { [HOST]: [] },
      TOOL_SEARCH: 'off',
    },
    keys: [...KEYS, WRITER],
    fetch: async () => {
      calls.push({ tool: 'ledger' })
      return Response.json('x')
    },
  })
  const http = { method: 'GET', url: `https://${HOST}/ledger` }
  const definition = { description: 'Tells.', inputSchema: { type: 'object' }, http, default: true }
  await edge.as(WRITER)('/tools/ledger', { method: 'PUT', json: definition })
  const copies: string[] = []
  for (const [index, key] of KEYS.entries()) {
    const id = idOf(index)
    const request = edge.as(key)
    await request('/conversations', { json: { id, ttlSeconds: 600, system: 'Be brief.' } })
    const done = { input: 'Look', tools: ['look'] }
    await request(`/conversations/${id}/runs`, { json: done, headers: { 'idempotency-key': 'k' } })
    const { body: run } = await request(`/conversations/${id}/runs`, { json: { input: 'Do it all.' } })
    // One of the copies has a parked run, as the edge itself made it.
    if (key === FINANCE) storeOf(edge, `v1/acme/${id}`).runs.setStatus(run.id, 'parked')
    copies.push((await request(`/backups/${id}`)).body)
    await request(`/conversations/${id}`, { method: 'DELETE' })
  }
  const id = idOf(KEYS.length)
  const request = JSON.stringify(forgedRequest({ model: 'test/scripted', conversation: id, caller: CALLER }))
  const tools = TOOLS.map((name) => forgedTool(name, `hash-${name}`))
  copies.push(
    copyOf(id, [
      { table: 'toolsets', values: [1, JSON.stringify(tools)] },
      { table: 'runs', values: runRow({ status: 'parked', request }) },
      { table: 'events', values: ['run_1', 1, 1, JSON.stringify({ ...DECISION, runId: 'run_1', seq: 1 })] },
    ]),
  )
  const nextRuns = new Map<string, string>()
  for (const key of KEYS) {
    for (const each of [...copies.map((_, index) => idOf(index)), ELSEWHERE]) {
      await edge.as(key)('/conversations', { json: { id: each } })
      nextRuns.set(`${key} ${each}`, (await nextRun(edge.as(key), each)).body.id)
      await edge.as(key)(`/conversations/${each}`, { method: 'DELETE' })
    }
  }
  calls.length = 0
  return { edge, copies, nextRuns, calls }
}

/** A conversation that no copy is of. */
const ELSEWHERE = 'elsewhere'

/** Starts the run that follows in a restored conversation. Its key gives it an id that anybody can foresee. */
function nextRun(request: ReturnType<ControlledEdge['as']>, id: string): ReturnType<typeof request> {
  return request(`/conversations/${id}/runs`, {
    json: { input: 'And now?', onBusy: 'interrupt' },
    headers: { 'idempotency-key': 'another' },
  })
}

/** Returns the tables of a conversation, past its object. */
function storeOf({ conversations }: ControlledEdge, name: string): Store {
  const { ctx } = conversations.getByName(name) as unknown as { readonly ctx: DurableObjectState }
  return new Store(ctx.storage)
}

/** Returns the conversation that a copy is of, and is restored as. */
function idOf(copy: number): string {
  return `c${copy}`
}

/** A copy, what is changed of it, and the key that restores it. */
export interface DrawnCopy {
  readonly copy: number
  readonly key: Key
  readonly changes: readonly Change[]
  /** Whether the whole is encoded again, so that no signature fits it. */
  readonly isForged: boolean
  /** Whether the signature of the copy is left under what is changed. */
  readonly keepsSignature: boolean
  /** Whether it is restored as another conversation. */
  readonly isElsewhere: boolean
}

interface Change {
  /** Which row, of those of the table if it is named. */
  readonly row: number
  readonly table: string | undefined
  readonly do: 'change' | 'drop' | 'repeat' | 'open' | 'foresee' | 'raise'
  readonly draws: readonly (readonly [place: number, change: number, value: unknown])[]
}

const FACTS = [
  DECISION,
  { type: 'run.retried', at: 1 },
  { type: 'call.deferred', callId: 'call_1', tool: 'pay', at: 0, until: 9e15, poll: 1000 },
]

/** Values that would have a run continue, or be somebody else's. */
const HOSTILE = fc.oneof(
  fc.constantFrom<unknown>(
    ...['queued', 'running', 'waiting', 'parked', 'cancelling', 'completed', 'run_1', 'run_2', 'ops', 'acme'],
    ...[CALLER, [CALLER], 'finance', ['pay', 'books', 'ledger'], false, 'caller', 'never', 'always', null, 1e308, -1],
    ...[...FACTS, FACTS, [{ role: 'tool', callId: 'call_1', tool: 'pay', ok: true, content: [] }]],
  ),
  VALUE,
)

export const drawnCopies: fc.Arbitrary<DrawnCopy> = fc.record({
  copy: fc.nat(3),
  key: fc.constantFrom(...KEYS),
  changes: fc.array(
    fc.record({
      row: fc.nat(200),
      table: fc.constantFrom(undefined, 'runs', 'runs', 'runs', 'events', 'toolsets', 'messages', 'meta', 'wholes'),
      do: fc.constantFrom<Change['do']>('change', 'change', 'change', 'drop', 'repeat', 'open', 'foresee', 'raise'),
      draws: fc.array(fc.tuple(fc.nat(10_000), fc.nat(3), HOSTILE), { minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 4 },
  ),
  isForged: fc.boolean(),
  keepsSignature: fc.boolean(),
  isElsewhere: fc.boolean(),
})

/** Restores a copy, does all that a key may do with what is there, and returns what is wrong, or undefined. */
export async function faultOf(
  { edge, copies, nextRuns, calls }: CopyWorld,
  drawn: DrawnCopy,
): Promise<string | undefined> {
  const request = edge.as(drawn.key)
  const id = drawn.isElsewhere ? ELSEWHERE : idOf(drawn.copy)
  const before = edge.requests.length
  const original = copies[drawn.copy] ?? ''
  const nextId = nextRuns.get(`${drawn.key} ${id}`) ?? ''
  const text = changed(original, drawn, nextId)
  const put = await request(`/backups/${id}`, { method: 'PUT', text })
  const faults: string[] = []
  const look = (path: string, { status, body }: { status: number; body: any }) => {
    if (status === 500 || body?.code === 'internal_error') faults.push(`${path}: ${status} ${JSON.stringify(body)}`)
  }
  look('PUT', put)
  const [tenant = '', scopes = ''] = drawn.key.split(': ')
  if (put.status === 201) {
    const isSigned = text === original && KEYS[drawn.copy]?.startsWith(`${tenant}:`) === true && !drawn.isElsewhere
    if (!isSigned) {
      faults.push(...(await faultsOfMarks(request, id)))
      const { runs, fullResults } = storeOf(edge, `v1/${tenant}/${id}`)
      if (fullResults.report(nextId, callOf(nextId))) faults.push('it has the outcome of a call that is yet to come')
      for (const run of rowsOf(text).flatMap(runsIn)) {
        const { limits } = runs.get(run)?.request ?? {}
        if (limits && JSON.stringify(lowerLimits(DEFAULT_LIMITS, limits)) !== JSON.stringify(limits))
          faults.push(`the run ${run} has limits above those of the edge`)
      }
    }
    if (put.body.signed !== isSigned) faults.push(`it was restored as ${isSigned ? 'not ' : ''}signed`)
    await edge.conversations.getByName(`v1/${tenant}/${id}`).alarm()
    if (edge.requests.length > before || calls.length > 0) faults.push('something ran before anybody asked for it')
    for (const run of rowsOf(text).flatMap(runsIn)) {
      const path = `/conversations/${id}/runs/${encodeURIComponent(run)}`
      look('record', await request(path))
      const events = await request(`${path}/events`)
      look('events', events)
      if (!isSigned && decisionsIn(events.body).some((decision) => 'by' in decision))
        faults.push('it tells who decided')
      const retry = await request(`${path}/retry`, { method: 'POST' })
      look('retry', retry)
      if (retry.status === 200) faults.push('a run of the copy continues')
      look('regenerate', await request(`${path}/regenerate`, { method: 'POST' }))
    }
    look('messages', await request(`/conversations/${id}/messages`))
    look('export', await request(`/conversations/${id}/export`))
    const next = await nextRun(request, id)
    look('run', next)
    const { body: facts } = await request(`/conversations/${id}/runs/${next.body?.id}/events`)
    if (decisionsIn(facts).length > 0) faults.push('the next run has a decision that nobody has made')
    await request(`/conversations/${id}`, { method: 'DELETE' })
  }
  const own = { tenant, key: keyName(drawn.key.replace(/\W+/g, '-')), scopes: scopes.split(' ') }
  for (const { tool: name, caller } of calls.splice(0)) {
    const isAllowed = { look: true, pay: false, books: drawn.key === FINANCE, ledger: drawn.key === OPS }[name]
    const isOwn = caller === undefined || JSON.stringify(caller) === JSON.stringify(own)
    if (!isAllowed || !isOwn) faults.push(`${name} ran for ${drawn.key}, as ${JSON.stringify(caller)}`)
  }
  return faults.length === 0 ? undefined : `${faults.join('\n')}\nof the copy\n${text}`
}

/** Returns what is wrong with the messages in a restored conversation, and in a fork of it. */
async function faultsOfMarks(request: ReturnType<ControlledEdge['as']>, id: string): Promise<readonly string[]> {
  const { body: messages }: { body: readonly any[] } = await request(`/conversations/${id}/messages`)
  const isTrusted = ({ message }: { readonly message: any }) =>
    message.role !== 'assistant' && message.marks?.includes('untrusted') !== true
  const faults = messages.filter(isTrusted).map(({ position }) => `the message ${position} has lost its mark`)
  const last = messages.findLast(({ message: { role, calls } }) => role === 'assistant' && !calls)
  if (!last) return faults
  const { body: fork } = await request(`/conversations/${id}/fork`, { json: { at: last.position } })
  const { body: copied } = await request(`/conversations/${fork.id}/messages`)
  if (!Array.isArray(copied) || copied.some(isTrusted)) faults.push('a fork has lost a mark')
  await request(`/conversations/${fork.id}`, { method: 'DELETE' })
  return faults
}

/** Returns the decisions among the events of a stream. */
function decisionsIn(stream: unknown): readonly object[] {
  const lines = String(stream).split('\n')
  const events = lines.flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
  return events.filter(({ type }) => type === 'approval.decided')
}

function runsIn({ table, values }: ForgedRow): readonly string[] {
  const id = values[1]
  return table === 'runs' && typeof id === 'string' && id !== '' ? [id] : []
}

/** Returns the rows of a copy; none of a text that is not a copy. */
function rowsOf(copy: string): readonly ForgedRow[] {
  const lines: unknown[] = copy.split('\n').map((line) => (line === '' ? undefined : JSON.parse(line)))
  return lines.filter((line): line is ForgedRow => isRow(line))
}

function isRow(line: unknown): boolean {
  return typeof line === 'object' && line !== null && 'table' in line
}

/** Changes a copy. `next`: the id of the run that will follow in the conversation. */
function changed(
  copy: string,
  { copy: copyIndex, changes, isForged, keepsSignature }: DrawnCopy,
  next: string,
): string {
  if (changes.length === 0 && !isForged) return copy
  let rows = rowsOf(copy)
  for (const change of changes) {
    if (change.do === 'foresee') {
      rows = [...rows, ...foreseenRows(next, change.row)]
      continue
    }
    const candidates = rows.filter(({ table }) => change.table === undefined || table === change.table)
    const row = candidates[change.row % Math.max(1, candidates.length)]
    if (row) rows = rows.flatMap((each) => (each === row ? changedRow(each, change) : [each]))
  }
  const forgery = copyOf(idOf(copyIndex), rows)
  const [signature] = /,"signature":"[^"]*"/.exec(copy) ?? []
  return keepsSignature && signature ? forgery.replace(/(?=\}\n$)/, signature) : forgery
}

/** Returns the id of the call of `pay` in the first step of a run. */
function callOf(run: string): string {
  return `call_${run.replace('run_', '')}_1_${TOOLS.indexOf('pay')}`
}

/** Returns rows by which a call of a run that does not exist yet is approved, and has an outcome. */
function foreseenRows(run: string, number: number): readonly ForgedRow[] {
  const first = 1 + number
  const line = JSON.stringify({ ...DECISION, callId: callOf(run), runId: run, seq: first })
  const outcome = JSON.stringify({ ok: true, content: [{ type: 'text', text: 'Forged.' }] })
  return [
    { table: 'events', values: [run, first, first, line] },
    { table: 'wholes', values: [`report/${run}/${callOf(run)}`, outcome] },
  ]
}

/** Returns a request with limits that no request may have. */
function withoutLimits(request: unknown): unknown {
  if (typeof request !== 'string' || !request.startsWith('{')) return request
  return JSON.stringify({ ...JSON.parse(request), limits: { ...DEFAULT_LIMITS, steps: 1e6, calls: 1e6, tokens: 1e12 } })
}

function changedRow(row: ForgedRow, { do: action, draws }: Change): readonly ForgedRow[] {
  if (action === 'drop') return []
  if (action === 'raise')
    return [{ table: row.table, values: row.table === 'runs' ? row.values.map(withoutLimits) : row.values }]
  if (action === 'open' && row.table === 'runs') {
    const [place, id, , request, toolset] = row.values
    const status = ['queued', 'running', 'waiting', 'parked'][draws[0]?.[0] ? draws[0][0] % 4 : 0] ?? 'parked'
    return [{ table: 'runs', values: runRow({ place, id, status, request, toolset } as Parameters<typeof runRow>[0]) }]
  }
  const other = { table: row.table, values: encoded(mutated(row.values.map(decoded), draws)) }
  return action === 'repeat' ? [row, other] : [other]
}

/** Parses the JSON that columns hold, in lines or not, so that it can be changed within. */
function decoded(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value
  try {
    const lines: unknown[] = value.split('\n').map((line): unknown => JSON.parse(line))
    return { lines }
  } catch {
    return value
  }
}

function encoded(values: unknown): readonly unknown[] {
  // A member of the list may be named `constructor`.
  return Array.from(Array.isArray(values) ? values : [], (value: unknown) => {
    if (typeof value !== 'object' || value === null) return value
    const lines: unknown = 'lines' in value ? value.lines : [value]
    return Array.from(Array.isArray(lines) ? lines : [lines], (line) => JSON.stringify(line)).join('\n')
  })
}
