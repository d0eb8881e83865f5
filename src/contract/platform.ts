/** A limit of Cloudflare's platform, and what this edge does at it. */
interface PlatformLimit {
  /** What is limited. */
  readonly limited: string
  /** How much Cloudflare allows. */
  readonly allowed: string
  /** What happens here. */
  readonly here: string
}

/**
 * The limits of the platform that an edge can meet, by
 * https://developers.cloudflare.com/workers/platform/limits and …/durable-objects/platform/limits in November 2026. This
 * is the only list of them: docs/limits.md shows it, and `test/conversation/platform.test.ts` holds the code to it, since
 * workerd on one's own machine enforces few of them.
 */
export const PLATFORM_LIMITS = {
  subrequests: {
    limited: 'subrequests of an invocation',
    allowed: '50 (Free), 10,000 (Paid)',
    here: 'A run counts its model requests and tool calls. After `MAX_SUBREQUESTS` (9,000; set 40 on the Free plan), an alarm continues it in another invocation. Without a conversation, it ends with `subrequest_limit`.',
  },
  connections: {
    limited: 'connections that wait for headers',
    allowed: '6',
    here: 'A run asks one model at a time, and fetches at most six linked files at a time. Calls of bound Workers do not count.',
  },
  memory: {
    limited: 'memory of an isolate',
    allowed: '128 MB',
    here: 'A body has at most `MAX_BODY_BYTES` (1 MiB). At most 20 linked files are fetched for a request, together 21 MiB. The results of concurrent calls have at most 32 MiB together: 4 MiB each by default, and never more than 8 MiB.',
  },
  message: {
    limited: 'a message over RPC',
    allowed: '32 MiB',
    here: 'A copy of a conversation has at most 30 MiB. Streams have no limit.',
  },
  row: {
    limited: 'a row of an object',
    allowed: '2 MB',
    here: 'Longer texts are stored in parts of 170,000 characters.',
  },
  storage: {
    limited: 'storage of an object',
    allowed: '10 GB',
    here: 'A tenant stores at most `MAX_STORED_BYTES` in all of its objects.',
  },
  cpu: {
    limited: 'CPU of a request',
    allowed: '10 ms (Free), 30 s (Paid, up to 5 minutes by `limits.cpu_ms`)',
    here: 'A step takes about a millisecond, and more with a long stream. Use the Paid plan.',
  },
  key: {
    limited: 'writes of one key of KV',
    allowed: '1 a second',
    here: 'One object of each owner writes the stored definitions, each key at most once a second. It repeats a failed write after ten seconds.',
  },
  alarm: {
    limited: 'time of an alarm',
    allowed: '15 minutes',
    here: '`RUN_TIMEOUT_MS` is 15 minutes. A run that is cut off is resumed by the next alarm.',
  },
} as const satisfies Readonly<Record<string, PlatformLimit>>

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
