import { Hono } from 'hono/tiny'
import { ID, newId } from '../../contract/id.ts'
import { isObject, sha256 } from '../../contract/json.ts'
import {
  type KeyChangeReply,
  readStoredKey,
  storedForm,
  type StoredKey,
  type StoredKeys,
} from '../../contract/api-key.ts'
import { withDeadline, within } from '../../contract/time-limit.ts'
import { ConfigError } from '../../contract/vars.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { Problem } from '../problem.ts'
import { readJson } from '../request-body.ts'
import type { Surface } from '../surface.ts'
import { invalidRequest, readQuery } from './runs.ts'

const MOST_BODY_BYTES = 64 * 1024
/** How many bytes the terms of a key may take: KV keeps 1,024 with each for the list. */
const MOST_TERMS_BYTES = 1000
/** How long KV may take to answer, in milliseconds. */
const KV_MS = 10_000
/** The reply to a change of which nothing is known. */
const NO_ANSWER: KeyChangeReply = { ok: false, code: 'keys_unavailable', detail: 'no answer' }
/** How often a change is tried while others change the same key. */
const MOST_TRIES = 5
/** What a request may set of a key. Its id and its tenant stay as they are. */
const CHANGES = ['scopes', 'expires', 'rate', 'budget', 'location', 'jurisdiction', 'disabled']

const app = new Hono<EdgeEnv>()

/** `/keys`: API keys that are stored in the binding `KEYS`, for operators. */
export const keyRoutes: Surface = { routes: { '/keys': app } }

type EdgeBindings = EdgeEnv['Bindings']

app.get('/', async (c) => {
  const keys = requireKeys(c.env)
  return c.json(await reachable(keys.list(readQuery(c, 'after').after)))
})

app.post('/', async (c) => {
  const keys = requireKeys(c.env)
  const body = await bodyOf(c.req.raw, ['id', 'tenant', ...CHANGES])
  const secret = newId('ek')
  const key = await keyOf(c.env, { scopes: ['chat', 'tools:read'], ...body, sha256: [await sha256(secret)] })
  if (typeof body['id'] !== 'string') throw invalidRequest({ message: 'A key needs an id.', path: 'id' })
  await change(keys, key.id, async (current) => {
    if (!current && !c.env.setup.config.apiKeys.some(({ id }) => id === key.id)) return key
    throw new Problem({ status: 409, code: 'key_exists', message: `There is a key "${key.id}" already.` })
  })
  return c.json({ key: secret, ...summaryOf(key) }, 201)
})

app.patch('/:id', async (c) => {
  const keys = requireKeys(c.env)
  const body = await bodyOf(c.req.raw, CHANGES)
  // Null removes a term. Any operator may disable a key, also one that may do more than the operator.
  const isDisabling = Object.keys(body).length === 1 && body['disabled'] === true
  const changedKey = await change(keys, c.req.param('id'), async (current, id) => {
    const key = existing(current, id)
    if (isDisabling) return { ...key, disabled: true }
    requireScopes(c.env, key)
    const entries = Object.entries({ ...storedForm(key), ...body }).filter(([, value]) => value !== null)
    return keyOf(c.env, Object.fromEntries(entries))
  })
  return c.json(summaryOf(changedKey))
})

app.post('/:id/rotate', async (c) => {
  const keys = requireKeys(c.env)
  const { keepOld } = await bodyOf(c.req.raw, ['keepOld'])
  const secret = newId('ek')
  const hash = await sha256(secret)
  const rotatedKey = await change(keys, c.req.param('id'), async (current, id) => {
    const key = existing(current, id)
    requireScopes(c.env, key)
    return { ...key, sha256: [hash, ...(keepOld === true ? key.sha256.slice(0, 1) : [])] }
  })
  return c.json({ key: secret, ...summaryOf(rotatedKey) })
})

app.delete('/:id', async (c) => {
  const keys = requireKeys(c.env)
  await change(keys, c.req.param('id'), async (current, id) => {
    existing(current, id)
    return null
  })
  return c.body(null, 204)
})

/** Returns the stored keys, for a caller with the scope. */
function requireKeys({ caller, setup }: EdgeBindings): StoredKeys {
  requireScope(caller, 'keys')
  if (setup.storedKeys) return setup.storedKeys
  throw new Problem({ status: 503, code: 'keys_not_stored', message: 'This edge stores no keys: bind KEYS.' })
}

/**
 * Changes a key. What it is to be is decided again if another change was made meanwhile; a key that is changed all the
 * time is left as it is.
 */
async function change<After extends StoredKey | null>(
  keys: StoredKeys,
  id: string,
  decide: (current: StoredKey | null, id: string) => Promise<After>,
): Promise<After> {
  let before = ID.test(id) ? ((await reachable(keys.read(id))) ?? null) : null
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const after = await decide(before, id)
    const reply = await within(KV_MS, keys.change({ id, before, after }), NO_ANSWER)
    if (reply.ok) return after
    if ('code' in reply) throw unavailable(reply.detail)
    before = reply.current
  }
  throw unavailable('changed too often')
}

function existing(key: StoredKey | null, id: string): StoredKey {
  if (key) return key
  throw new Problem({ status: 404, code: 'unknown_key', message: `No key "${id}" is stored.` })
}

async function bodyOf(request: Request, names: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const body = await readJson(request, MOST_BODY_BYTES)
  if (!isObject(body)) throw invalidRequest({ message: 'Expected a JSON object.', path: '' })
  const unknown = Object.keys(body).find((name) => !names.includes(name))
  if (unknown === undefined) return body
  throw invalidRequest({ message: `Expected one of ${names.join(', ')}.`, path: unknown })
}

/** Reads a key of a request, which gives it no scope that the caller lacks. */
async function keyOf(env: EdgeBindings, entry: Readonly<Record<string, unknown>>): Promise<StoredKey> {
  try {
    const key = readStoredKey(entry)
    requireScopes(env, key)
    if (key.rate !== undefined && !env.setup.rates?.[key.rate]) {
      throw invalidRequest({ message: `There is no rate limit binding "${key.rate}".`, path: 'rate' })
    }
    if (new TextEncoder().encode(JSON.stringify(summaryOf(key))).length > MOST_TERMS_BYTES) {
      throw invalidRequest({ message: `The terms of a key take at most ${MOST_TERMS_BYTES} bytes.`, path: '' })
    }
    return key
  } catch (error) {
    if (error instanceof ConfigError) throw invalidRequest({ message: error.message, path: '' })
    throw error
  }
}

/** Throws a Problem if a key has a scope of this edge that the caller lacks: nobody makes a key that may do more. */
function requireScopes({ caller }: EdgeBindings, { scopes }: StoredKey): void {
  const missing = scopes.find((scope) => !caller.scopes.includes(scope))
  if (missing === undefined) return
  const message = `The key has the scope "${missing}", which yours lacks.`
  throw new Problem({ status: 403, code: 'scope_not_held', message })
}

async function reachable<Value>(work: Promise<Value>): Promise<Value> {
  return withDeadline(KV_MS, work).catch((error: unknown) => {
    throw unavailable(error instanceof Error ? error.name : 'unknown')
  })
}

function unavailable(reason: string): Problem {
  const message = 'The stored keys cannot be reached now.'
  return new Problem({ status: 503, code: 'keys_unavailable', message, retryAfterMs: 5000, extra: { reason } })
}

/** Returns a key as operators see it, without its hashes. */
function summaryOf(key: StoredKey): object {
  const { sha256: _, ...summary } = { ...storedForm(key), sha256: undefined }
  return summary
}
