import { isObject } from '../contract/json.ts'
import { callMethod, type Platform } from './invocation.ts'

/** What a key was before it was written. */
interface Version {
  readonly writtenAt: number
  /** The place that wrote it, which sees it at once. */
  readonly by: string
  readonly before: Entry
}

/** The writes of each key of this isolate. */
const versions = new Map<string, Version[]>()
/** When each place has last read each key as it was then. */
const reads = new Map<string, number>()

type ReadOptions = string | { readonly type?: string; readonly cacheTtl?: number }

interface Entry {
  readonly value: unknown
  readonly metadata: unknown
}

const MISSING: Entry = { value: null, metadata: null }

/**
 * Returns the methods of a KV namespace as other locations see it: a place that has read a key still reads what it was
 * for a minute, unless it has written it itself. A key is written once a second.
 */
export function heldKeyValue(platform: Platform, binding: string, namespace: object): Record<string, unknown> {
  const { keyInterval, keyDelay } = platform.figures
  const lastWriteAt = (key: string) => versions.get(`${binding} ${key}`)?.at(-1)?.writtenAt ?? -Infinity

  const write = async (key: string, method: 'put' | 'delete', run: () => Promise<unknown>) => {
    const { current } = platform
    const sinceMs = Date.now() - lastWriteAt(key)
    if (sinceMs < keyInterval) {
      platform.report('keyInterval', `${binding} ${key} is written again after ${sinceMs} ms.`)
      throw new Error(`KV ${method.toUpperCase()} failed: 429 Too Many Requests`)
    }
    const by = current?.place.name ?? ''
    const version: Version & { before: Entry } = { writtenAt: Date.now(), by, before: MISSING }
    const recent = (versions.get(`${binding} ${key}`) ?? []).filter(
      ({ writtenAt }) => Date.now() - writtenAt < keyDelay,
    )
    versions.set(`${binding} ${key}`, [...recent, version])
    version.before = entryOf(await callMethod(namespace, 'getWithMetadata', [key, 'arrayBuffer']))
    return platform.connect(`${binding}.${method}`, run)
  }

  /** Returns what a place still takes a key for; undefined if it asks for what it is now. */
  const staleEntry = (key: string, cacheMs: number): Entry | undefined => {
    const place = platform.current?.place.name
    if (place === undefined) return undefined
    const now = Date.now()
    const readAt = reads.get(`${place} ${binding} ${key}`) ?? -Infinity
    const since = versions.get(`${binding} ${key}`)?.filter(({ writtenAt }) => writtenAt >= readAt) ?? []
    const isFresh = now - readAt >= cacheMs || since.length === 0 || since.some(({ by }) => by === place)
    if (!isFresh) return since[0]?.before
    // What was cached before is asked for again only when its time is up.
    if (now - readAt >= cacheMs || since.length > 0) reads.set(`${place} ${binding} ${key}`, now)
    return undefined
  }

  const read = async (keys: string | readonly string[], options?: ReadOptions): Promise<Map<string, Entry>> => {
    const { type = 'text', cacheTtl } = typeof options === 'string' ? { type: options } : (options ?? {})
    const cacheMs = cacheTtl === undefined ? keyDelay : Math.min(cacheTtl * 1000, keyDelay)
    const all = [keys].flat()
    const stale = all.map((key) => staleEntry(key, cacheMs))
    const answer = await platform.connect(`${binding}.get`, async () =>
      callMethod(namespace, 'getWithMetadata', [keys, options]),
    )
    return new Map(
      all.map((key, at) => {
        const before = stale[at]
        if (before) return [key, { value: decoded(before.value, type), metadata: before.metadata }]
        return [key, entryOf(answer instanceof Map ? answer.get(key) : answer)]
      }),
    )
  }

  return {
    get: async (keys: string | readonly string[], options?: ReadOptions) => {
      const entries = Array.from(await read(keys, options), ([key, { value }]) => [key, value] as const)
      return typeof keys === 'string' ? entries[0]?.[1] : new Map(entries)
    },
    getWithMetadata: async (keys: string | readonly string[], options?: ReadOptions) => {
      const entries = await read(keys, options)
      return typeof keys === 'string' ? { cacheStatus: null, ...entries.get(keys) } : entries
    },
    put: (key: string, ...rest: unknown[]) =>
      write(key, 'put', async () => callMethod(namespace, 'put', [key, ...rest])),
    delete: (key: string) => write(key, 'delete', async () => callMethod(namespace, 'delete', [key])),
    list: (...options: unknown[]) =>
      platform.connect(`${binding}.list`, async () => callMethod(namespace, 'list', options)),
  }
}

function entryOf(answer: unknown): Entry {
  return isObject(answer) ? { value: answer['value'], metadata: answer['metadata'] } : MISSING
}

function decoded(value: unknown, type: string): unknown {
  if (!(value instanceof ArrayBuffer) || type === 'arrayBuffer') return value
  if (type === 'stream') return new Response(value).body
  const text = new TextDecoder().decode(value)
  return type === 'json' ? JSON.parse(text) : text
}
