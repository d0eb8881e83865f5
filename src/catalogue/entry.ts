import type { Change, HistoryEntry } from '../contract/catalogue.ts'
import { isObject, parseJson } from '../contract/json.ts'

/** A row of the history, joined with the version that it names. */
export interface HistoryRow extends Record<string, SqlStorageValue> {
  readonly revision: number
  readonly action: HistoryEntry['action']
  readonly hash: string | null
  readonly version: string | null
  readonly change: string | null
  readonly breaks: string | null
  readonly place: string | null
  readonly author: string
  readonly at: number
}

/** Converts a row to a history entry. */
export function toEntry({
  revision,
  action,
  hash,
  version,
  change,
  breaks,
  place,
  author,
  at,
}: HistoryRow): HistoryEntry {
  return {
    revision,
    action,
    ...(place !== null && { place }),
    ...(hash !== null && { hash }),
    ...(version !== null && { version }),
    ...(isChange(change) && { change, breaks: issuesOf(breaks) }),
    ...byOf(parseJson(author)),
    at: new Date(at).toISOString(),
  }
}

function isChange(change: string | null): change is Change['change'] {
  return change !== null
}

function issuesOf(text: string | null): Change['breaks'] {
  const issues = parseJson(text ?? '[]')
  return Array.isArray(issues)
    ? issues.filter(isObject).map(({ path, message }) => ({ path: String(path), message: String(message) }))
    : []
}

function byOf(author: unknown): Pick<HistoryEntry, 'by'> {
  const { tenant, key } = isObject(author) ? author : {}
  return typeof tenant === 'string' ? { by: { tenant, ...(typeof key === 'string' && { key }) } } : {}
}
