import { canonicalJson, sha256 } from '../../contract/json.ts'
import { readBody } from '../http/body.ts'
import { messageOf } from '../thrown.ts'
import type { Code, Origins } from './definition.ts'
import { CLOSED, MAIN } from './main.ts'
import type { OutboundGrant } from './outbound.ts'

/** What code runs in: the binding `LOADER`, and this Worker's own way out for what it loads. */
export interface CodeHost {
  readonly loader: CodeLoader
  /** The binding that checks what goes out under a grant. */
  readonly outbound: (grant: OutboundGrant) => unknown
}

/** The part of a `worker_loaders` binding that is used here. */
export interface CodeLoader {
  get(id: string, code: () => WorkerCode): LoadedWorker
  load(code: WorkerCode): LoadedWorker
}

export interface WorkerCode {
  readonly compatibilityDate: string
  readonly mainModule: string
  readonly modules: Readonly<Record<string, string>>
  readonly globalOutbound: unknown
  readonly limits: { readonly cpuMs: number; readonly subRequests: number }
}

export interface LoadedWorker {
  getEntrypoint(): { fetch(url: string, init?: RequestInit): Promise<Response> }
}

/** For one call. Time that passes while it waits is the call's deadline's matter. */
const LIMITS = { cpuMs: 1000, subRequests: 50 }

/** What code asks of a dynamic Worker. */
export const URL_OF_CODE = 'https://tool/'

/** A module may stand in the way of its own check. */
const CHECK_MS = 10_000
const MOST_CHECK_BYTES = 100

/** Loads a module once, and says what keeps it from being a tool's code. It is not called, and has no network. */
export async function checkModule({ loader }: CodeHost, module: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(CHECK_MS)
    const answer = await loader.load(workerCode(module, null)).getEntrypoint().fetch(URL_OF_CODE, { signal })
    const { text: exported } = await readBody(answer, MOST_CHECK_BYTES)
    if (exported === 'function') return undefined
    return `expected a default export that is a function (arguments, context) => result, received ${exported}`
  } catch (error) {
    const reason = messageOf(error).replace(/^Failed to start Worker:\s*(?:Uncaught )?/, '')
    return `expected an ES module that loads: ${reason.replace(/\s+/g, ' ')}`
  }
}

export interface CodeGrant {
  readonly tenant: string
  readonly origins: Origins
  /** Values by name. */
  readonly secrets: ReadonlyMap<string, string>
}

export interface OpenedCode {
  /** The Worker, started where none of this id runs. */
  readonly load: () => LoadedWorker
  /** What the module gets in the place of each secret. */
  readonly standIns: Readonly<Record<string, string>>
}

/** Random values cannot be made before the first request. */
let salt: string | undefined

/**
 * The dynamic Worker of a module. Calls share one only where code, tenant and grant are the same: what a module keeps in
 * its globals never reaches another tenant, nor a call that may do less. One for each call (`load`) would keep even less,
 * but start, and be paid for, each time.
 *
 * A module never holds a secret, so that it cannot tell one, in whatever disguise: it gets a stand-in that nobody can
 * guess, and the way out exchanges it. What the loader gets for an id must never vary, so stand-ins follow from the id;
 * the salt keeps them from giving a short secret away.
 */
export async function openCode(
  { loader, outbound }: CodeHost,
  { module }: Code,
  grant: CodeGrant,
): Promise<OpenedCode> {
  const { tenant, origins } = grant
  const secrets = [...grant.secrets]
  if (secrets.length > 0) salt ??= crypto.randomUUID()
  const id = await sha256(canonicalJson([MAIN, module, tenant, origins, secrets, secrets.length > 0 && salt]))
  const held = await Promise.all(
    secrets.map(async ([name, value]) => ({ name, value, standIn: `${name}.${await sha256(`${id} ${name}`)}` })),
  )
  const hasHosts = Object.keys(origins).length > 0
  const load = () =>
    loader.get(`tool:${id}`, () => workerCode(module, hasHosts ? outbound({ origins, secrets: held }) : null))
  return { load, standIns: Object.fromEntries(held.map(({ name, standIn }) => [name, standIn])) }
}

function workerCode(module: string, globalOutbound: unknown): WorkerCode {
  return {
    compatibilityDate: '2026-10-23',
    mainModule: 'main.js',
    modules: { 'main.js': MAIN, 'closed.js': CLOSED, 'tool.js': module },
    globalOutbound,
    limits: LIMITS,
  }
}
