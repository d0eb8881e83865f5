/** A plan of Cloudflare Workers. */
export const PLANS = ['free', 'paid'] as const
export type WorkersPlan = (typeof PLANS)[number]

/** How much a plan allows of each thing that the stand-in for the platform holds a Worker to. */
export interface PlatformFigures {
  /** Subrequests of an invocation. */
  readonly subrequests: number
  /** Connections of an invocation that wait for headers. */
  readonly connections: number
  /** Distinct Dynamic Workers under way in a request. */
  readonly dynamicWorkers: number
  /** Distinct Dynamic Workers under way in all requests of an object. */
  readonly dynamicWorkersOfObject: number
  /** Memory of an isolate, in bytes. */
  readonly memory: number
  /** A message over RPC, in bytes. */
  readonly message: number
  /** A row, or a value with its key, of an object, in bytes. */
  readonly row: number
  /** What an object stores, in bytes. */
  readonly storage: number
  /** CPU of an invocation, in milliseconds. */
  readonly cpu: number
  /** The time between two writes of a key of KV, in milliseconds. */
  readonly keyInterval: number
  /** How long others may read what a key of KV was, in milliseconds. */
  readonly keyDelay: number
  /** A variable or secret, in bytes. */
  readonly variable: number
  /** How often an alarm that throws is tried again. */
  readonly alarmRetries: number
  /** The time of an alarm, in milliseconds. */
  readonly alarmTime: number
}

const MIB = 1024 * 1024

const PAID: PlatformFigures = {
  subrequests: 10_000,
  connections: 6,
  dynamicWorkers: 4,
  dynamicWorkersOfObject: 10,
  memory: 128 * MIB,
  message: 32 * MIB,
  row: 2_000_000,
  storage: 10_000_000_000,
  cpu: 30_000,
  keyInterval: 1000,
  keyDelay: 60_000,
  variable: 5 * 1024,
  alarmRetries: 6,
  alarmTime: 15 * 60_000,
}

/** What each plan allows. */
export const FIGURES: Readonly<Record<WorkersPlan, PlatformFigures>> = {
  free: { ...PAID, subrequests: 50, dynamicWorkers: 0, dynamicWorkersOfObject: 0, cpu: 10 },
  paid: PAID,
}

/** A limit of Cloudflare's platform, what this edge does at it, and what the stand-in for the platform does. */
interface PlatformLimit {
  /** What is limited. */
  readonly limited: string
  /** How much Cloudflare allows. */
  readonly allowed: string
  /** What the edge does. */
  readonly here: string
  /** What `dev --plan` and `platform()` of `edgecall/test` do when it is passed. */
  readonly beyond: string
  /** The page of https://developers.cloudflare.com that says so. */
  readonly source: string
  /** The day on which that page was last read. */
  readonly confirmed: string
}

const WORKERS = 'workers/platform/limits/'
const OBJECTS = 'durable-objects/platform/limits/'
const DYNAMIC = 'dynamic-workers/platform/limits/'
const READ = '2026-11-29'

/**
 * The limits of the platform that an edge can meet. This is the only list of them: `npm run openapi` writes it to
 * docs/limits.md, and `test/conversation/platform.test.ts` holds the code to it. workerd on one's own machine enforces
 * few of them; `src/platform` does it there.
 */
export const PLATFORM_LIMITS = {
  subrequests: {
    limited: 'subrequests of an invocation',
    allowed: '50 (Free), 10,000 (Paid)',
    here: 'A run counts its model requests and tool calls. After `MAX_SUBREQUESTS` (9,000; 40 with `WORKERS_PLAN = "free"`), an alarm continues it in another invocation. Without a conversation, it ends with `subrequest_limit`.',
    beyond: 'The next one throws.',
    source: WORKERS,
    confirmed: READ,
  },
  connections: {
    limited: 'connections that wait for headers',
    allowed: '6',
    here: 'A run asks one model at a time, and fetches at most six linked files at a time. Calls of bound Workers do not count.',
    beyond: 'The seventh waits, and is reported.',
    source: WORKERS,
    confirmed: READ,
  },
  dynamicWorkers: {
    limited: 'Dynamic Workers under way in a request',
    allowed: 'none (Free), 4 (Paid)',
    here: 'At most four programs of a run are under way; the next ones wait in order.',
    beyond: 'The fifth throws.',
    source: DYNAMIC,
    confirmed: READ,
  },
  dynamicWorkersOfObject: {
    limited: 'Dynamic Workers under way in an object',
    allowed: 'none (Free), 10 (Paid)',
    here: 'A conversation performs one run at a time. Agents that are part of a call, and not runs of their own, have four programs each.',
    beyond: 'The eleventh throws.',
    source: DYNAMIC,
    confirmed: READ,
  },
  memory: {
    limited: 'memory of an isolate',
    allowed: '128 MB',
    here: 'A body has at most `MAX_BODY_BYTES` (1 MiB). At most 20 linked files are fetched for a request, together 21 MiB. The results of concurrent calls have at most 32 MiB together: 4 MiB each by default, and never more than 8 MiB.',
    beyond:
      'An estimate is reported: what the invocations under way have read whole (bodies, messages over RPC, values of KV), without what code makes of it.',
    source: WORKERS,
    confirmed: READ,
  },
  message: {
    limited: 'a message over RPC',
    allowed: '32 MiB',
    here: 'A copy of a conversation goes in parts of at most 30 MiB. Streams have no limit.',
    beyond: 'It throws, as workerd alone does, and is reported.',
    source: 'workers/runtime-apis/rpc/',
    confirmed: READ,
  },
  row: {
    limited: 'a row of an object',
    allowed: '2 MB',
    here: 'Longer texts are stored in parts of 170,000 characters.',
    beyond: 'A statement that writes more in a row throws.',
    source: OBJECTS,
    confirmed: READ,
  },
  storage: {
    limited: 'storage of an object',
    allowed: '10 GB',
    here: 'A tenant stores at most `MAX_STORED_BYTES` in all of its objects.',
    beyond: 'A statement that writes throws.',
    source: OBJECTS,
    confirmed: READ,
  },
  cpu: {
    limited: 'CPU of a request',
    allowed: '10 ms (Free), 30 s (Paid, up to 5 minutes by `limits.cpu_ms`)',
    here: 'A step takes about a millisecond, and more with a long stream. Use the Paid plan.',
    beyond: 'The estimated time is reported.',
    source: WORKERS,
    confirmed: READ,
  },
  keyInterval: {
    limited: 'writes of one key of KV',
    allowed: '1 a second',
    here: 'One object of each owner writes the stored definitions, each key at most once a second. It repeats a failed write after ten seconds.',
    beyond: 'The second throws.',
    source: 'kv/platform/limits/',
    confirmed: READ,
  },
  keyDelay: {
    limited: 'time until a change of KV is seen everywhere',
    allowed: '60 s or more',
    here: 'Changed tools and keys take effect within a minute or two.',
    beyond: 'Another object, or the Worker, that has read the key still reads what it was.',
    source: 'kv/concepts/how-kv-works/',
    confirmed: READ,
  },
  variable: {
    limited: 'a variable or secret',
    allowed: '5 KB',
    here: 'Longer lists of keys belong into the binding `KEYS`.',
    beyond: 'It is reported once.',
    source: WORKERS,
    confirmed: READ,
  },
  alarmRetries: {
    limited: 'retries of an alarm that throws',
    allowed: '6',
    here: 'Each object sets its next alarm before it works, and notes what failed; an alarm does not throw.',
    beyond: 'The last one is reported.',
    source: 'durable-objects/api/alarms/',
    confirmed: READ,
  },
  alarmTime: {
    limited: 'time of an alarm',
    allowed: '15 minutes',
    here: '`RUN_TIMEOUT_MS` is 15 minutes. A run that is cut off is resumed by the next alarm.',
    beyond: 'It is reported.',
    source: OBJECTS,
    confirmed: READ,
  },
} as const satisfies Readonly<Record<keyof PlatformFigures, PlatformLimit>>

/**
 * Rows read of a stored run with one answer of a model, and of each further step with a call, without its alarms.
 * `test/edge/rows.test.ts` measures them on workerd.
 */
export const ROWS_READ = { run: 31, stepWithCall: 4 } as const

/**
 * Rows written, indexes included: of a stored run with one answer of a model, until it is pruned; of each further step
 * with a call; of an alarm; and of a run in the tenant's list and in its usage, which counts runs that are not stored
 * too. `test/conversation/cost.test.ts` measures them.
 */
export const ROWS_WRITTEN = { run: 13, stepWithCall: 5, alarm: 1, listing: 2, usage: 5 } as const
