import { type CodeLoader, type LoadedWorker, SANDBOX, type WorkerCode } from '../../code/sandbox.ts'
import { canonicalJson, sha256 } from '../../contract/json.ts'
import { decodeText, readBody } from '../../contract/read-body.ts'
import { messageOf } from '../../contract/thrown.ts'
import { withTimeLimit } from '../../contract/time-limit.ts'
import type { Code, Origins } from './definition.ts'
import type { OutboundGrant } from './outbound.ts'

/** What it takes to run code: the binding `LOADER`, and the gateway of this Worker for requests of loaded code. */
export interface CodeHost {
  readonly loader: CodeLoader
  /** Returns the binding that checks and sends requests under a grant. */
  readonly outbound: (grant: OutboundGrant) => unknown
  /** `shared`: the calls of a tenant share an isolate. `call`: each call has an isolate that ends with it. */
  readonly isolates: 'shared' | 'call'
}

/** The limits of one call. The time that it waits is bounded by its deadline alone. */
const LIMITS = { cpuMs: 1000, subRequests: 50 }

/** The URL of requests to a dynamic Worker; only their method matters. */
export const URL_OF_CODE = 'https://tool/'

/** The time limit of a check, in milliseconds: a module could keep its own check from ending. */
const CHECK_MS = 10_000
const MOST_CHECK_BYTES = 100

/** Loads a module, and returns why it cannot be a tool's code, if so. Its function is not called; it has no network. */
export async function checkModule({ loader }: CodeHost, module: string): Promise<string | undefined> {
  try {
    const exported = await withTimeLimit(CHECK_MS, async (signal) => {
      const answer = await loader.load(workerCode(module, null)).getEntrypoint().fetch(URL_OF_CODE, { signal })
      return decodeText((await readBody(answer, MOST_CHECK_BYTES)).bytes)
    })
    if (exported === 'function') return undefined
    return `expected a default export that is a function (arguments, context) => result, received ${exported}`
  } catch (error) {
    const reason = messageOf(error).replace(/^Failed to start Worker:\s*(?:Uncaught )?/, '')
    return `expected an ES module that loads: ${reason.replace(/\s+/g, ' ')}`
  }
}

interface CodeGrant {
  readonly tenant: string
  readonly origins: Origins
  /** The values of the secrets, by name. */
  readonly secrets: ReadonlyMap<string, string>
}

interface PreparedCode {
  /** Returns the Worker, which is started if none of this id runs. */
  readonly load: () => LoadedWorker
  /** The text that the module gets in place of each secret, by name. */
  readonly standIns: Readonly<Record<string, string>>
}

/** Made with the first request: the platform has no random values before. */
let salt: string | undefined

/**
 * Prepares the dynamic Worker of a module. Calls share one only if code, tenant and grant are the same, so that what a
 * module keeps in its globals never reaches another tenant, nor a call that may do less. The platform ends a shared one
 * when it likes: work that a module passes to `waitUntil` continues after the call, for up to 30 seconds. A Worker for
 * each call ends with it, but is started, and paid for, each time.
 *
 * A module never holds a secret, so that it cannot reveal one in any disguise: it gets a stand-in that nobody can
 * guess, and `sendOutbound` replaces it. What the loader gets for an id must never vary, so that stand-ins are derived
 * from the id; the salt keeps a short secret from being guessed from them.
 */
export async function prepareCode(
  { loader, outbound, isolates }: CodeHost,
  { module }: Code,
  grant: CodeGrant,
): Promise<PreparedCode> {
  const { tenant, origins } = grant
  const secrets = [...grant.secrets]
  if (secrets.length > 0) salt ??= crypto.randomUUID()
  const id = await sha256(canonicalJson([FRAME, module, tenant, origins, secrets, secrets.length > 0 && salt]))
  const grantedSecrets = await Promise.all(
    secrets.map(async ([name, value]) => ({ name, value, standIn: `${name}.${await sha256(`${id} ${name}`)}` })),
  )
  const hasHosts = Object.keys(origins).length > 0
  const code = () => workerCode(module, hasHosts ? outbound({ origins, secrets: grantedSecrets }) : null)
  const load = () => (isolates === 'call' ? loader.load(code()) : loader.get(`tool:${id}`, code))
  return { load, standIns: Object.fromEntries(grantedSecrets.map(({ name, standIn }) => [name, standIn])) }
}

function workerCode(module: string, globalOutbound: unknown): WorkerCode {
  return { ...FRAME, modules: { ...FRAME.modules, 'tool.js': module }, globalOutbound, limits: LIMITS }
}

/**
 * The main module of each dynamic Worker, around the definition's own `tool.js`. `GET` answers the type of its default
 * export; `POST { arguments, context }` calls it. Answers are text, so that neither a function nor a stub can come out,
 * and the reader can stop at its limit. Values become JSON as in a tool Worker (`toJson` of `result.ts`).
 */
const MAIN = `import './closed.js'
import * as tool from './tool.js'

const toJson = (key, value) => {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  if (value instanceof ArrayBuffer) return new Uint8Array(value).toBase64()
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).toBase64()
  const kind = typeof value === 'object' ? Object.prototype.toString.call(value).slice(8, -1) : typeof value
  const isLost = typeof value === 'object' && value && !written.includes(kind) && Object.keys(value).length === 0
  if (kind === 'function' || kind === 'symbol' || isLost) throw new TypeError('a ' + kind + ' at "' + key + '"')
  return value
}
const written = ['Object', 'Array', 'Number', 'String', 'Boolean']

async function answer(request) {
  let value
  try {
    const { arguments: input, context } = await request.json()
    value = await tool.default(input, context)
  } catch (error) {
    return JSON.stringify({ thrown: String(error?.stack ?? error) })
  }
  try {
    return JSON.stringify({ value }, toJson)
  } catch (error) {
    return JSON.stringify({ unserialisable: String(error?.message ?? error) })
  }
}

export default {
  async fetch(request) {
    return new Response(request.method === 'GET' ? typeof tool.default : await answer(request))
  },
}
`

/** Runs before the definition's module, and removes what could outlive an isolate, or be shared among isolates. */
const CLOSED = 'delete globalThis.caches\n'

/** What the dynamic Worker of every stored tool is made of, beside the definition's own module. */
export const FRAME = {
  ...SANDBOX,
  mainModule: 'main.js',
  modules: { ...SANDBOX.modules, 'main.js': MAIN, 'closed.js': CLOSED },
} as const
