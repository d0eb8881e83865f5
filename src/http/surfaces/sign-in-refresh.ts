import { fromBase64, toBase64 } from '../../contract/bytes.ts'
import type { Isolate } from '../../contract/isolate.ts'
import { isObject, parseJson, sha256 } from '../../contract/json.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import { pause } from '../../contract/time-limit.ts'

/** What is read of the record of a grant. The library writes back what it does not know. */
interface GrantRecord {
  /** The hash of the refresh token that was issued last. */
  readonly refreshTokenId?: string
  /** The hash of the one before, which the library accepts until the last one is used: its answer may have been lost. */
  readonly previousRefreshTokenId?: string
  /** The first digits of the hashes of all other refresh tokens of the grant, the oldest first. */
  readonly supersededTokenIds?: readonly string[]
}

/** The refresh tokens of a grant that are known to be superseded: those of 40 days, if it is refreshed each hour. */
const MOST_SUPERSEDED = 1000
const ID_DIGITS = 24
/** For how long a repeated request is answered as the first was; the shortest time for which KV keeps anything. */
const REPLAY_SECONDS = 60
/** For how long a request waits for another one with the same token. */
const TURN_MS = 5000
const TURN_CHECK_MS = 50
const MOST_TURNS = 1000

/** A request for new tokens, and what performs and ends it. */
export interface Refresh {
  readonly token: string
  /** All of the request that counts: the same request again gets the same answer. */
  readonly content: string
  readonly grants: KVNamespace
  readonly isolate: Isolate
  /** Has the library answer, which reads and writes this namespace. */
  readonly perform: (grants: object) => Promise<Response>
  /** Ends the grant with all of its tokens. */
  readonly endGrant: (grant: string, user: string) => Promise<void>
}

/**
 * Answers a request for new tokens. The same request is answered alike for a minute, unless the new token is used before: a
 * client that lost the answer, or that runs twice, keeps its sign-in. A refresh token that comes back after it was replaced
 * otherwise ends the grant, since somebody else has it too (OAuth 2.1, 4.3.1; RFC 9700, 4.14.2).
 */
export async function refreshGrant(refresh: Refresh): Promise<Response> {
  const { token, grants, isolate, perform, endGrant } = refresh
  const [user = '', grant = '', ...secret] = token.split(':')
  if (secret.length !== 1) return perform(grants)
  const id = await sha256(token)
  const turns = (isolate.refreshes ??= new RecentMap({ most: MOST_TURNS, maxAgeMs: TURN_MS }))
  while (turns.get(id)) await pause(TURN_CHECK_MS)
  turns.set(id, true)
  try {
    const key = `grant:${user}:${grant}`
    const before = (await grants.get<GrantRecord>(key, 'json')) ?? {}
    const earlier = before.previousRefreshTokenId === id ? await readReplay(refresh, id, before) : undefined
    if (earlier !== undefined) return answerWith(earlier)
    const response = await perform(recordingSuperseded(grants, key, before))
    if (response.ok) {
      const text = await response.text()
      await writeReplay(refresh, id, text)
      return answerWith(text)
    }
    if (before.supersededTokenIds?.includes(id.slice(0, ID_DIGITS))) await endGrant(grant, user)
    return response
  } finally {
    turns.delete(id)
  }
}

/** Returns the namespace, which adds to the record of a grant the refresh tokens that are not accepted any more. */
function recordingSuperseded(grants: KVNamespace, key: string, before: GrantRecord): object {
  const { refreshTokenId, previousRefreshTokenId, supersededTokenIds = [] } = before
  const put: KVNamespace['put'] = (name, value, options) => {
    const record = name === key && typeof value === 'string' ? parseJson(value) : undefined
    if (!isObject(record)) return grants.put(name, value, options)
    const replaced = [previousRefreshTokenId, refreshTokenId].flatMap((id) =>
      id === undefined || id === record['refreshTokenId'] || id === record['previousRefreshTokenId']
        ? []
        : [id.slice(0, ID_DIGITS)],
    )
    const all = [...supersededTokenIds, ...replaced].slice(-MOST_SUPERSEDED)
    return grants.put(name, JSON.stringify({ ...record, supersededTokenIds: all }), options)
  }
  return { get: grants.get.bind(grants), list: grants.list.bind(grants), delete: grants.delete.bind(grants), put }
}

/** Returns the answer to the same request, if it is the last that the grant has and its refresh token is not used yet. */
async function readReplay(
  { content, grants }: Refresh,
  id: string,
  { refreshTokenId }: GrantRecord,
): Promise<string | undefined> {
  const [iv, sealed] = ((await grants.get(replayKey(id))) ?? '').split('.').map(fromBase64)
  if (!iv || !sealed) return undefined
  try {
    const opened = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, await sealingKey(content), sealed)
    const text = new TextDecoder().decode(opened)
    const tokens = parseJson(text)
    const next = isObject(tokens) ? tokens['refresh_token'] : undefined
    return typeof next === 'string' && (await sha256(next)) === refreshTokenId ? text : undefined
  } catch {
    // Another request with the same token, such as one for other scopes.
    return undefined
  }
}

/** Stores an answer, encrypted with the request that it answers: nobody else can read the tokens. */
async function writeReplay({ content, grants }: Refresh, id: string, text: string): Promise<void> {
  const iv = crypto.getRandomValues(new Uint8Array(12))
  const plain = new TextEncoder().encode(text)
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, await sealingKey(content), plain)
  const value = `${toBase64(iv)}.${toBase64(new Uint8Array(sealed))}`
  // Without it, the next request with this token gets tokens of its own.
  await grants.put(replayKey(id), value, { expirationTtl: REPLAY_SECONDS }).catch(() => {})
}

function replayKey(id: string): string {
  return `refreshed:${id}`
}

async function sealingKey(content: string): Promise<CryptoKey> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`sealed by ${content}`))
  return crypto.subtle.importKey('raw', digest, 'AES-GCM', false, ['encrypt', 'decrypt'])
}

function answerWith(text: string): Response {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', pragma: 'no-cache' }
  return new Response(text, { headers })
}
