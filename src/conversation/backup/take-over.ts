import { isObject, parseJson } from '../../contract/json.ts'
import { type Limits, lowerLimits } from '../../contract/limits.ts'
import { marksAmong, type Message } from '../../contract/message.ts'
import { isTerminal, type RunRequest } from '../../contract/run.ts'
import type { Caller } from '../../contract/tool.ts'
import type { DecodeResult } from '../../wire/client/body.ts'
import { decodeConversationBody } from '../../wire/client/conversation.ts'
import { decodeCopiedMessage, decodeCopiedRequest, decodeCopiedRun, decodeCopiedTools } from '../../wire/client/copy.ts'
import { decodeLine, encodeLine } from '../../wire/events.ts'
import { ID } from '../../contract/id.ts'
import { LAST_PLACE, latePrefix, messageKind, positionOf } from '../store/messages.ts'
import { shortDefinition } from '../store/runs.ts'
import { isContent, isPartRefusal, isRecord, isUsage } from '../store/shapes.ts'
import { CopiedTexts, KEYS, type TableRow, type WrittenRows } from './copy.ts'

/** The caller who brings a copy, the id of the conversation that is made of it, and the limits of the edge. */
export interface NewOwner {
  readonly caller: Caller
  readonly id: string
  readonly limits: Limits
}

/**
 * Makes the tables of a copy that is not signed those of the caller who brings it, who may have written them: nothing in
 * them is anybody else's, and nothing can continue. Requests are checked by the schemas that check requests, and
 * have the caller's name; of tools only names remain, by which the edge finds its own; decisions have no author. What
 * belongs to no run of the copy is removed, since a later run could have that id. Throws an Error that says what is
 * wrong.
 */
export function takeOver({ sql }: Pick<DurableObjectStorage, 'sql'>, owner: NewOwner, rows: WrittenRows): void {
  const texts = new CopiedTexts(sql)
  texts.checkNumbers()
  takeOverRows({ sql, texts, rows }, owner)
  texts.dropOthers()
}

/** The rows of a copy, or of a part of one, that are to be taken over. */
interface Takeover {
  readonly sql: SqlStorage
  readonly texts: CopiedTexts
  readonly rows: WrittenRows
}

/** Takes over the rows of a part of a copy as `takeOver` does. Those of runs come in the parts before, or in this one. */
export function takeOverPart(sql: SqlStorage, owner: NewOwner, rows: WrittenRows): void {
  takeOverRows({ sql, texts: new CopiedTexts(sql), rows }, owner)
}

function takeOverRows(takeover: Takeover, owner: NewOwner): void {
  const { sql } = takeover
  sql.exec('DELETE FROM quarantine')
  takeOverTools(takeover)
  takeOverRuns(takeover, owner)
  dropStrangers(takeover, 'joined')
  takeOverEvents(takeover)
  const marks = takeOverMessages(takeover)
  takeOverMeta(takeover, marks)
  takeOverResults(takeover)
}

/** Removes what belongs to no run of the copy. */
function dropStrangers({ sql, rows }: Takeover, table: 'joined'): void {
  for (const { id } of rows.get(table) ?? [])
    sql.exec(`DELETE FROM ${table} WHERE id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = run)`, id)
}

/** Of the definitions only names remain: a run that is repeated offers the edge's current tools of these names. */
function takeOverTools(takeover: Takeover): void {
  const { sql, texts } = takeover
  for (const { id, definitions } of rowsOf(takeover, 'toolsets')) {
    const place = `the list of tools ${String(id)}`
    const tools = checked(place, decodeCopiedTools(parseJson(texts.read(definitions))))
    const short = tools.map((tool) => shortDefinition({ ...tool, annotations: {} }))
    sql.exec('UPDATE toolsets SET definitions = ? WHERE id = ?', texts.replace(definitions, JSON.stringify(short)), id)
  }
}

function takeOverRuns(takeover: Takeover, owner: NewOwner): void {
  const { sql, texts } = takeover
  for (const row of rowsOf(takeover, 'runs')) {
    const place = `the run ${String(row.id)}`
    const { record, created, ended, ...run } = checked(place, decodeCopiedRun(row))
    if (run.place >= LAST_PLACE) throw new Error(`${place} has no valid place`)
    const storedRecord = record === null ? undefined : parseJson(texts.read(record))
    if (record !== null && !(isRecord(storedRecord) && isTerminal(storedRecord.status) && storedRecord.id === run.id)) {
      throw new Error(`${place} has no valid record`)
    }
    // An edge leaves the request empty that it could not read.
    const request = row.request === '' ? '' : texts.replace(row.request, JSON.stringify(requestOf(row, owner)))
    sql.exec(
      `UPDATE runs SET status = ?, request = ?, ended = ?, reserved = 0, interrupted = 0, stalled = NULL, idle = 0,
         resumes = 0 WHERE place = ?`,
      isRecord(storedRecord) ? storedRecord.status : 'queued',
      request,
      record === null ? null : (ended ?? created),
      run.place,
    )
  }

  function requestOf({ id, request }: TableRow, { caller, id: conversation, limits }: NewOwner): RunRequest {
    const place = `the run ${String(id)}`
    const decoded = checked(place, decodeCopiedRequest(parseJson(texts.read(request))))
    if (decoded.runId !== id) throw new Error(`${place} has the request of another run`)
    return {
      execution: 'edge',
      toolErrors: 'model',
      ...decoded,
      input: decoded.input.map(withMark),
      limits: lowerLimits(limits, decoded.limits ?? {}),
      conversation,
      durable: true,
      caller,
      isFromCopy: true,
    }
  }
}

/** Those of no run of the copy are removed. */
function takeOverEvents(takeover: Takeover): void {
  const { sql, texts } = takeover
  for (const { run, first, last, lines } of rowsOf(takeover, 'events')) {
    if (!hasRun(sql, run)) {
      texts.discard(lines)
      sql.exec('DELETE FROM events WHERE run = ? AND first = ?', run, first)
      continue
    }
    const place = `the journal of the run ${String(run)}`
    if (![first, last].every((number) => Number.isSafeInteger(number))) throw new Error(`${place} has no valid numbers`)
    const events = texts.read(lines).split('\n')
    const ownEvents = events.filter((line) => line === '' || decodeLine(line)?.runId === run).map(withoutAuthor)
    if (ownEvents.length === events.length && ownEvents.every((line, index) => line === events[index])) continue
    const column = texts.replace(lines, ownEvents.join('\n'))
    sql.exec('UPDATE events SET lines = ? WHERE run = ? AND first = ?', column, run, first)
  }
}

/** Removes from a decision who is said to have made it. */
function withoutAuthor(line: string): string {
  const event = decodeLine(line)
  if (event?.type !== 'approval.decided') return line
  const { by: _by, ...decision } = event
  return encodeLine(decision)
}

/** Returns the marks of all results. */
function takeOverMessages(takeover: Takeover): readonly string[] {
  const { sql, texts } = takeover
  const marks = new Set<string>()
  for (const { position, run, message: column, kind } of rowsOf(takeover, 'messages')) {
    const place = `the message ${String(position)}`
    const isPlaced =
      Number.isSafeInteger(position) && Number(position) >= 0 && Number(position) < positionOf(LAST_PLACE)
    if (!isPlaced || !ID.test(String(run))) throw new Error(`${place} has no valid place`)
    const text = texts.read(column)
    const message = withMark(checked(place, decodeCopiedMessage(parseJson(text))))
    for (const mark of marksAmong([message])) marks.add(mark)
    const encoded = JSON.stringify(message)
    sql.exec(
      'UPDATE messages SET message = ?, kind = ? WHERE position = ?',
      encoded === text ? column : texts.replace(column, encoded),
      kind === 'old' ? kind : messageKind(message),
      position,
    )
  }
  return [...marks]
}

/** Marks a message as untrusted, also for forks: who has written it is not known, or whether a tool has answered it. */
function withMark(message: Message): Message {
  if (message.marks?.includes('untrusted')) return message
  const marked = { ...message, marks: [...(message.marks ?? []), 'untrusted' as const] }
  return marked.role === 'tool' ? { ...marked, byCaller: true } : marked
}

/** Keeps of the values of the conversation as a whole those that its owner could have set, and adds the marks of results. */
function takeOverMeta(takeover: Takeover, marksOfResults: readonly string[]): void {
  const { sql, texts } = takeover
  const values: Record<string, unknown> = {}
  for (const { key, value } of rowsOf(takeover, 'meta')) {
    values[String(key)] = parseJson(texts.read(value))
    sql.exec('DELETE FROM meta WHERE key = ?', key)
    texts.drop(value)
  }
  const { settings, summary, usage, marks, refusals } = values
  const own = {
    ...(settings !== undefined && { settings: checked('the settings', decodeConversationBody(settings)) }),
    ...(isSummary(summary) && { summary: { text: summary.text, upTo: summary.upTo } }),
    ...(isSum(usage) && { usage: { usage: usage.usage, runs: usage.runs } }),
    ...(Array.isArray(refusals) && { refusals: refusals.filter(isPartRefusal) }),
  }
  for (const [key, value] of Object.entries(own))
    sql.exec('INSERT INTO meta VALUES (?, ?)', key, texts.keep(JSON.stringify(value)))
  // A part before may have had some.
  const [stored] = sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'marks'").toArray()
  const all = new Set([...marksIn(parseJson(stored?.value ?? '')), ...marksIn(marks), ...marksOfResults])
  if (all.size > 0) sql.exec("INSERT OR REPLACE INTO meta VALUES ('marks', ?)", JSON.stringify([...all]))
}

function marksIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.filter((mark) => mark === 'untrusted' || mark === 'private') : []
}

function isSummary(value: unknown): value is { readonly text: string; readonly upTo: number } {
  return isObject(value) && typeof value['text'] === 'string' && Number.isSafeInteger(value['upTo'])
}

function isSum(value: unknown): value is { readonly usage: object; readonly runs: number } {
  if (!isObject(value) || !Number.isSafeInteger(value['runs']) || !isObject(value['usage'])) return false
  return (
    isUsage(value['usage']) &&
    Object.values(value['usage']).every((count) => Number.isFinite(count) && Number(count) >= 0)
  )
}

/** Keeps complete results, and late ones of runs of the copy. What was reported counts for runs that wait, and none does. */
function takeOverResults(takeover: Takeover): void {
  const { sql, texts } = takeover
  for (const { call, content: column } of rowsOf(takeover, 'wholes')) {
    const content = parseJson(texts.read(column))
    const [, run] = String(call).split('/')
    const isOfRun = run !== undefined && String(call).startsWith(latePrefix(run)) && hasRun(sql, run)
    const isValid = run === undefined ? isContent(content) : isOfRun && isObject(content)
    if (isValid) continue
    texts.drop(column)
    sql.exec('DELETE FROM wholes WHERE call = ?', call)
  }
}

function hasRun(sql: SqlStorage, id: string | number | null | undefined): boolean {
  return sql.exec('SELECT 1 FROM runs WHERE id = ?', id ?? null).toArray().length > 0
}

/** Reads the rows of a table, each when it is needed. They may be changed meanwhile. */
function* rowsOf({ sql, rows }: Takeover, table: string): Generator<TableRow> {
  const keys = KEYS.get(table) ?? []
  const where = keys.map((key) => `${key} = ?`).join(' AND ')
  for (const key of rows.get(table) ?? [])
    yield sql.exec<TableRow>(`SELECT * FROM ${table} WHERE ${where}`, ...keys.map((name) => key[name] ?? null)).one()
}

function checked<Value>(place: string, decoded: DecodeResult<Value>): Value {
  if (decoded.ok) return decoded.request
  throw new Error(`${place}: ${decoded.error.message}`)
}
