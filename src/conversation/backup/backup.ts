import type { BackupReply, RestoreRequest } from '../../contract/backup.ts'
import type { BackupPorts } from '../../contract/backup-ports.ts'
import type { Refusal, Reply } from '../../contract/conversation.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import type { ConversationBackups } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { DELETED, refusalOf, UNKNOWN } from '../run/cancel-run.ts'
import { CopiedTexts, copyTables, faultOfCopy, writeTables } from './copy.ts'
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
import { isContent, isRecord, isUsage } from '../store/shapes.ts'

/** Copies a conversation, restores one from a copy, or rewinds it to an earlier time. */
export const backUpConversation: ConversationBackups = async (request, ports) => {
  if (request.do === 'copy') return copy(ports)
  return request.do === 'restore' ? restore(request, ports) : rewind(request.at, ports)
}

function copy({ ctx: { storage }, store, life }: BackupPorts): Reply<BackupReply> {
  if (life() !== 'open') return life() === 'deleted' ? DELETED : UNKNOWN
  const owner = store.meta('owner')
  const bytes = copyTables(storage, isObject(owner) ? String(owner['id']) : '')
  if (!bytes) return refusalOf('copy_too_large', 'A copy of this conversation would have more than 30 MiB.')
  return { ok: true, copy: bytes }
}

async function restore(request: RestoreRequest, ports: BackupPorts): Promise<Reply<BackupReply>> {
  const { ctx, store, life, alarms } = ports
  const { caller, id, copy, isSigned } = request
  const before = life()
  if (before === 'open') return refusalOf('conversation_exists', 'A conversation with this id exists.')
  const fault = faultOfCopy(copy)
  if (fault !== undefined) return invalidCopy(fault)
  if (before === 'deleted') await store.deleteAll()
  let listing: Promise<void>
  try {
    listing = alarms.create({ tenant: caller.tenant, id }, () => {
      writeTables(ctx.storage, copy)
      if (!isSigned) takeOver(ctx.storage, { caller, id, limits: ports.limits })
      // The original may still exist. Its unfinished runs belong to it, and nobody here has been asked about their calls.
      store.endCopiedRuns()
      alarms.touch()
    })
  } catch (error) {
    if (before === 'deleted') await store.deleteForGood()
    return invalidCopy(messageOf(error))
  }
  await alarms.restore()
  await listing
  return { ok: true }
}

function invalidCopy(fault: string): Refusal {
  return refusalOf('invalid_copy', `The copy cannot be restored: ${fault}.`)
}

/** How long a reply may take to leave the object, in milliseconds. */
const REPLY_MS = 100

/**
 * Cloudflare stores the last 30 days
 * (https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/#pitr-point-in-time-recovery-api); a local
 * workerd stores nothing.
 */
async function rewind(at: number, { ctx, life, cancelAll }: BackupPorts): Promise<Reply<BackupReply>> {
  if (life() === 'none') return UNKNOWN
  try {
    const bookmark = await ctx.storage.getBookmarkForTime(at)
    if (life() === 'open') await cancelAll(at)
    await ctx.storage.onNextSessionRestoreBookmark(bookmark)
  } catch (error) {
    return refusalOf('no_recovery', `This conversation cannot be taken back: ${messageOf(error)}`)
  }
  setTimeout(() => ctx.abort('The conversation is taken back to an earlier time.'), REPLY_MS)
  return { ok: true }
}

/** The caller who brings a copy, the id of the conversation that is made of it, and the limits of the edge. */
export interface NewOwner {
  readonly caller: Caller
  readonly id: string
  readonly limits: Limits
}

type Row = Readonly<Record<string, string | number | null>>

/**
 * Makes the tables of a copy that is not signed those of the caller who brings it, who may have written them: nothing in
 * them is anybody else's, and nothing can continue. Requests are checked by the schemas that check requests, and
 * have the caller's name; of tools only names remain, by which the edge finds its own; decisions have no author. What
 * belongs to no run of the copy is removed, since a later run could have that id. Throws an Error that says what is
 * wrong.
 */
export function takeOver({ sql }: Pick<DurableObjectStorage, 'sql'>, owner: NewOwner): void {
  const texts = new CopiedTexts(sql)
  sql.exec('DELETE FROM quarantine')
  takeOverTools(sql, texts)
  takeOverRuns(sql, texts, owner)
  sql.exec('DELETE FROM joined WHERE run NOT IN (SELECT id FROM runs)')
  sql.exec('DELETE FROM events WHERE run NOT IN (SELECT id FROM runs)')
  takeOverEvents(sql, texts)
  const marks = takeOverMessages(sql, texts)
  takeOverMeta(sql, texts, marks)
  takeOverResults(sql, texts)
  texts.dropOthers()
}

/** Of the definitions only names remain: a run that is repeated offers the edge's current tools of these names. */
function takeOverTools(sql: SqlStorage, texts: CopiedTexts): void {
  for (const { id, definitions } of rowsBy(sql, 'toolsets', ['id'])) {
    const place = `the list of tools ${String(id)}`
    const tools = checked(place, decodeCopiedTools(parseJson(texts.read(definitions))))
    const short = tools.map((tool) => shortDefinition({ ...tool, annotations: {} }))
    sql.exec('UPDATE toolsets SET definitions = ? WHERE id = ?', texts.replace(definitions, JSON.stringify(short)), id)
  }
}

function takeOverRuns(sql: SqlStorage, texts: CopiedTexts, owner: NewOwner): void {
  for (const row of rowsBy(sql, 'runs', ['place'])) {
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

  function requestOf({ id, request }: Row, { caller, id: conversation, limits }: NewOwner): RunRequest {
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

function takeOverEvents(sql: SqlStorage, texts: CopiedTexts): void {
  for (const { run, first, last, lines } of rowsBy(sql, 'events', ['run', 'first'])) {
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
function takeOverMessages(sql: SqlStorage, texts: CopiedTexts): readonly string[] {
  const marks = new Set<string>()
  for (const { position, run, message: column, kind } of rowsBy(sql, 'messages', ['position'])) {
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

/** Keeps of the values of the conversation as a whole those that its owner could have set. */
function takeOverMeta(sql: SqlStorage, texts: CopiedTexts, marksOfResults: readonly string[]): void {
  const values: Record<string, unknown> = Object.fromEntries(
    rowsBy(sql, 'meta', ['key']).map(({ key, value }) => [String(key), parseJson(texts.read(value))]),
  )
  const { settings, summary, usage, marks } = values
  const before = Array.isArray(marks) ? marks.filter((mark) => mark === 'untrusted' || mark === 'private') : []
  const own = {
    ...(settings !== undefined && { settings: checked('the settings', decodeConversationBody(settings)) }),
    ...(isSummary(summary) && { summary: { text: summary.text, upTo: summary.upTo } }),
    ...(isSum(usage) && { usage: { usage: usage.usage, runs: usage.runs } }),
    marks: [...new Set([...before, ...marksOfResults])],
  }
  sql.exec("DELETE FROM meta WHERE key <> 'version'")
  for (const [key, value] of Object.entries(own)) {
    if (key === 'marks' && own.marks.length === 0) continue
    sql.exec('INSERT INTO meta VALUES (?, ?)', key, texts.keep(JSON.stringify(value)))
  }
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
function takeOverResults(sql: SqlStorage, texts: CopiedTexts): void {
  const runs = new Set(
    sql
      .exec('SELECT id FROM runs')
      .toArray()
      .map(({ id }) => id),
  )
  for (const { call, content: column } of rowsBy(sql, 'wholes', ['call'])) {
    const content = parseJson(texts.read(column))
    const [, run] = String(call).split('/')
    const isOfRun = run !== undefined && String(call).startsWith(latePrefix(run)) && runs.has(run)
    const isValid = run === undefined ? isContent(content) : isOfRun && isObject(content)
    if (!isValid) sql.exec('DELETE FROM wholes WHERE call = ?', call)
  }
}

/** Reads the rows of a table, each when it is needed. They may be changed meanwhile. */
function* rowsBy(sql: SqlStorage, table: string, keys: readonly string[]): Generator<Row> {
  const where = keys.map((key) => `${key} = ?`).join(' AND ')
  for (const key of sql.exec<Row>(`SELECT ${keys.join(', ')} FROM ${table}`).toArray()) {
    yield sql.exec<Row>(`SELECT * FROM ${table} WHERE ${where}`, ...keys.map((name) => key[name] ?? null)).one()
  }
}

function checked<Value>(place: string, decoded: DecodeResult<Value>): Value {
  if (decoded.ok) return decoded.request
  throw new Error(`${place}: ${decoded.error.message}`)
}
