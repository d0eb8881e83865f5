import { isToolError, ToolError } from './result.ts'

/** The state of a key: no work is known, its work began and was not seen to end, or its work is done. */
export type KeyStatus = 'absent' | 'started' | 'done'

/** Does a piece of work once for each key, such as a call's `idempotencyKey`. */
export interface Once {
  /**
   * Runs `work`, or resolves with the kept result if it ran for this key before. A caller that asks while it runs
   * shares its outcome. A result is plain JSON, and every caller gets a copy.
   * A ToolError of `work` means that nothing has happened: the key is forgotten, and may be used again. Any other
   * error, a ToolError with the code `in_doubt`, and a crash leave the key in doubt: its work never runs again by
   * itself, and calls with the key fail with a ToolError of that code until `onDoubt` settles it.
   * Contract: `work` ends in bounded time.
   */
  <Result>(key: string, work: () => Result | Promise<Result>, options?: OnceOptions<Result>): Promise<Result>
  /** Returns the state of a key, for a tool that is asked whether one of its calls took effect. */
  status(key: string): Promise<KeyStatus>
}

export interface OnceOptions<Result> {
  /**
   * Finds out what became of a key whose work began and was not seen to end: `done` with its result, or `absent`, and
   * then the work runs. If it throws, the call fails with that error, and the key stays in doubt.
   */
  readonly onDoubt?: (key: string) => Finding<Result> | Promise<Finding<Result>>
}

export type Finding<Result> = { readonly status: 'done'; readonly result: Result } | { readonly status: 'absent' }

/** `Once` with a synchronous form, for work that does nothing but write to the same database. */
export interface SqlOnce extends Once {
  /**
   * Runs `work`, which must be synchronous. Its writes commit together with its key, or not at all if it throws, so
   * that the key is never in doubt.
   */
  sync<Result>(key: string, work: () => Result): Result
}

export interface KeepOptions {
  /** How long a key is kept, in milliseconds: longer than any caller would send it again. Default: 7 days. */
  readonly keepMs?: number
  readonly now?: () => number
}

const WEEK = 7 * 86_400_000
/** The largest result that is kept, in bytes of JSON; a row of a Durable Object holds 2 MB. */
const MOST_BYTES = 1024 * 1024

/** `kept` is the result as JSON, or null if it could not be kept. */
type Entry = { readonly state: 'started' } | { readonly state: 'done'; readonly kept: string | null }

interface Store {
  read(key: string): Entry | undefined | Promise<Entry | undefined>
  /** Records that the key has started. If there is an entry already, returns it and changes nothing. */
  start(key: string): Entry | undefined | Promise<Entry | undefined>
  finish(key: string, kept: string | null): void | Promise<void>
  drop(key: string): void | Promise<void>
}

/**
 * Keeps keys in the table `once` of a Durable Object; to be called in its constructor. A key is recorded before its
 * work begins, so that a crash at any point leaves it done, absent, or known to be in doubt.
 *
 * @example
 * export class Bookings extends DurableObject {
 *   readonly #once = onceInSql(this.ctx.storage)
 *
 *   book(key: string, room: string) {
 *     return this.#once.sync(key, () => {
 *       this.ctx.storage.sql.exec('INSERT INTO bookings (room) VALUES (?)', room)
 *       return { room }
 *     })
 *   }
 * }
 */
export function onceInSql(
  storage: Pick<DurableObjectStorage, 'sql' | 'transactionSync'>,
  options: KeepOptions = {},
): SqlOnce {
  const store = sqlStore(storage.sql, options)
  const sync = <Result>(key: string, work: () => Result): Result =>
    storage.transactionSync(() => {
      const entry = store.start(key)
      if (entry) return decode(storedText(entry))
      const result = work()
      if (result instanceof Promise) throw new TypeError('The work of once.sync() must not be asynchronous')
      const text = encode(result)
      store.finish(key, storableText(text))
      return decode(requireJson(text))
    })
  return Object.assign(createOnce(store), { sync })
}

/**
 * Keeps keys in a KV namespace; to be called for each tool call. The guarantee is weaker than a Durable Object's: it
 * holds for calls that come one after the other and in one place. Two calls at the same moment, or within a minute in
 * two places, may both run; a call that comes while another runs finds the key in doubt. For work whose repetition
 * costs little.
 *
 * @example
 * const once = onceInKv(env.KEYS)
 * const receipt = await once(context.idempotencyKey, async () => (await fetch(url, { method: 'POST' })).text())
 */
export function onceInKv(namespace: KeyValues, { keepMs = WEEK }: Pick<KeepOptions, 'keepMs'> = {}): Once {
  const expires = { expirationTtl: Math.max(60, Math.ceil(keepMs / 1000)) }
  // Two KV keys for each key, since KV takes one write a second to the same key.
  const startedKey = (key: string) => `once:started:${key}`
  const doneKey = (key: string) => `once:done:${key}`
  const read = async (key: string): Promise<Entry | undefined> => {
    const [end, begin] = await Promise.all([namespace.get(doneKey(key)), namespace.get(startedKey(key))])
    if (end !== null) return { state: 'done', kept: end === '' ? null : end }
    return begin === null ? undefined : { state: 'started' }
  }
  return createOnce({
    read,
    start: async (key) => {
      const entry = await read(key)
      if (!entry) await namespace.put(startedKey(key), '1', expires)
      return entry
    },
    finish: (key, kept) => namespace.put(doneKey(key), kept ?? '', expires),
    drop: (key) => namespace.delete(startedKey(key)),
  })
}

/** The part of a KV namespace that `onceInKv` uses. */
export interface KeyValues {
  get(key: string): Promise<string | null>
  put(key: string, value: string, options: { readonly expirationTtl: number }): Promise<void>
  delete(key: string): Promise<void>
}

function createOnce(store: Store): Once {
  // The work in progress in this isolate, by key; callers that ask meanwhile share it.
  const running = new Map<string, Promise<string>>()
  const once = async <Result>(
    key: string,
    work: () => Result | Promise<Result>,
    options: OnceOptions<Result> = {},
  ): Promise<Result> => {
    const shared = running.get(key)
    if (shared) return decode(await shared)
    const attempt = attemptOnce(store, key, { ...options, work })
    running.set(key, attempt)
    try {
      return decode(await attempt)
    } finally {
      running.delete(key)
    }
  }
  return Object.assign(once, { status: async (key: string) => (await store.read(key))?.state ?? 'absent' })
}

interface Attempt<Result> extends OnceOptions<Result> {
  readonly work: () => Result | Promise<Result>
}

async function attemptOnce<Result>(store: Store, key: string, { work, onDoubt }: Attempt<Result>): Promise<string> {
  const entry = await store.start(key)
  if (entry && (entry.state === 'done' || !onDoubt)) return storedText(entry)
  const finding = entry && (await onDoubt?.(key))
  const result = finding?.status === 'done' ? finding.result : await runWork(store, key, work)
  const text = encode(result)
  await recordSafely(key, () => store.finish(key, storableText(text)))
  return requireJson(text)
}

async function runWork<Result>(store: Store, key: string, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isToolError(error)) throw inDoubt(error)
    if (error.code !== IN_DOUBT) await recordSafely(key, () => store.drop(key))
    throw error
  }
}

/** Writes what became of a key. A failed write is logged, since the effect stands; the key then stays in doubt. */
async function recordSafely(key: string, write: () => void | Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    console.error(`once: the outcome for the key "${key}" could not be stored`, error)
  }
}

const IN_DOUBT = 'in_doubt'

function inDoubt(cause?: unknown): ToolError {
  const message =
    'This call was interrupted: whether it took effect is unknown, and it was not repeated. Find out whether it ' +
    'did, or tell the person who asked, before you call again.'
  return new ToolError(message, { code: IN_DOUBT, cause })
}

function storedText(entry: Entry): string {
  if (entry.state === 'started') throw inDoubt()
  if (entry.kept !== null) return entry.kept
  const message = 'This call was made before and took effect, but its result was not stored. Do not make it again.'
  throw new ToolError(message, { code: 'result_not_kept' })
}

/** Returns undefined for a result with no JSON form. */
function encode(result: unknown): string | undefined {
  try {
    return JSON.stringify({ result })
  } catch {
    return undefined
  }
}

/** Returns `any`: the type of a kept result is not checked; the code that uses the key vouches for it. */
function decode(text: string) {
  return JSON.parse(text).result
}

function requireJson(text: string | undefined): string {
  if (text === undefined) throw new TypeError('The result of work in once() must be JSON')
  return text
}

function storableText(text: string | undefined): string | null {
  return text !== undefined && new TextEncoder().encode(text).byteLength <= MOST_BYTES ? text : null
}

interface SqlStore extends Store {
  read(key: string): Entry | undefined
  start(key: string): Entry | undefined
  finish(key: string, kept: string | null): void
  drop(key: string): void
}

/** `kept` is NULL while a key is only started, and where its result could not be kept. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS once (
    key TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('started', 'done')),
    kept TEXT,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS once_at ON once (at);
`

function sqlStore(sql: SqlStorage, { keepMs = WEEK, now = Date.now }: KeepOptions): SqlStore {
  sql.exec(SCHEMA)
  const read = (key: string) => {
    const query = 'SELECT state, kept FROM once WHERE key = ? AND at > ?'
    return sql.exec<Row>(query, key, now() - keepMs).toArray()[0]
  }
  return {
    read,
    start: (key) => {
      sql.exec('DELETE FROM once WHERE at <= ?', now() - keepMs)
      const row = read(key)
      if (!row) sql.exec(`INSERT INTO once (key, state, at) VALUES (?, 'started', ?)`, key, now())
      return row
    },
    finish: (key, kept) => {
      sql.exec(`REPLACE INTO once (key, state, kept, at) VALUES (?, 'done', ?, ?)`, key, kept, now())
    },
    drop: (key) => {
      sql.exec('DELETE FROM once WHERE key = ?', key)
    },
  }
}

interface Row extends Record<string, SqlStorageValue> {
  readonly state: 'started' | 'done'
  readonly kept: string | null
}
