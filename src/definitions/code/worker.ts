import { type CodeLoader, type LoadedWorker, SANDBOX, type WorkerCode } from '../../code/sandbox.ts'
import { canonicalJson, isObject, parseJson, sha256 } from '../../contract/json.ts'
import { decodeText, readBody } from '../../contract/bytes.ts'
import { messageOf } from '../../contract/thrown.ts'
import { controlSignal, OutOfTime, withTimeLimit } from '../../contract/time-limit.ts'
import { checkCodeHosts, type Code, type Origins, originsOf } from './definition.ts'
import type { OutboundGrant } from './outbound.ts'
import type { ToolHosts } from '../../contract/definition.ts'
import type { Compat } from '../../contract/run-options.ts'
import { failure, type Tool, type ToolOutcome } from '../../contract/tool.ts'
import { redactor, type Redactor } from '../http/result.ts'
import { timedOut } from '../outcome.ts'
import { plainFault, RESULT_LIMITS } from '../../schema/document.ts'
import { toOutcome } from '../../tool/result.ts'

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

export interface CodeOptions {
  /** Runs the code; absent in a deployment that runs none. */
  readonly code?: CodeHost | undefined
  readonly hosts: ToolHosts
  /** Returns the value of a secret, such as `SECRET_WEATHER`. */
  readonly secret: (name: string) => string | undefined
  readonly now?: () => number
}

/** The reason to refuse a definition with code in a deployment that runs none. */
export const CODE_IS_OFF =
  'expected a deployment that runs code: the definitions Worker has no binding LOADER (worker_loaders)'

/** Matches the platform's error for a request that nothing can settle any more. */
const HUNG = /code had hung/

/**
 * Returns the function that calls the code of a stored tool in a dynamic Worker. A call ends when the edge gives it up,
 * and at the deadline. The text of an exception is for operators alone. Expects arguments that fit the schema.
 */
export function callCode(
  { name, code }: { readonly name: string; readonly code: Code },
  { code: host, hosts, secret, now = Date.now }: CodeOptions,
): Tool['call'] {
  return async (request, control) => {
    const secrets = new Map((code.secrets ?? []).map((each) => [each, secret(each) ?? '']))
    const faults = [
      ...checkCodeHosts(code, hosts).map(({ message }) => message),
      ...[...secrets].flatMap(([each, value]) => (value === '' ? [`${each} has no value`] : [])),
    ]
    const misconfigured = (detail: string) => failure('tool_misconfigured', `The tool "${name}" is not set up.`, detail)
    if (!host) return misconfigured(CODE_IS_OFF)
    if (faults.length > 0) return misconfigured(faults.join('\n'))
    const { compat, ...context } = request.context
    const leftMs = context.deadline - now()
    // A call whose time is up already must not have an effect.
    if (leftMs <= 0)
      return failure('timeout', `The tool "${name}" was not called: the deadline of the call had passed.`)
    const grant = { tenant: context.caller.tenant, origins: originsOf(code, hosts), secrets }
    const { load, standIns } = await prepareCode(host, code, grant)
    // Stand-ins are redacted too: a caller that knows one could send it as an argument, and have the secret sent.
    const redact = redactor([...secrets.values(), ...Object.values(standIns)])
    const wanted = controlSignal(control)
    const body = JSON.stringify({ arguments: request.arguments, context: { ...context, secrets: standIns } })
    const send = async (signal: AbortSignal) => {
      const response = await load()
        .getEntrypoint()
        .fetch(URL_OF_CODE, { method: 'POST', body, signal, redirect: 'manual' })
      return readCodeResult(name, response, { redact, compat })
    }
    try {
      return await withTimeLimit(leftMs, send, wanted)
    } catch (error) {
      const detail = redact.text(messageOf(error))
      if (wanted.aborted || error instanceof OutOfTime || HUNG.test(detail)) return timedOut(name, detail)
      return failure('tool_failed', `The tool "${name}" failed.`, detail)
    }
  }
}

const MOST_BYTES = 1024 * 1024
const MOST_DETAIL = 2000

interface ReadOptions {
  readonly redact: Redactor
  readonly compat?: Compat | undefined
}

/**
 * Turns the answer of a dynamic Worker into an outcome. It is not trusted to be that of the main module, since the module runs
 * beside it. An answer of more than 1 MiB, or that is not JSON, is a failure.
 */
async function readCodeResult(tool: string, response: Response, { redact, compat }: ReadOptions): Promise<ToolOutcome> {
  const fail = (code: string, problem: string, detail?: string) =>
    failure(
      code,
      `The tool "${tool}" ${problem}`,
      detail === undefined ? detail : redact.text(detail).slice(0, MOST_DETAIL),
    )
  const { bytes, isComplete } = await readBody(response, MOST_BYTES)
  const text = decodeText(bytes)
  if (!isComplete) return fail('result_too_large', `answered with more than ${MOST_BYTES} bytes.`)
  const message = parseJson(text)
  if (!isObject(message)) return fail('tool_failed', 'failed.', 'the dynamic Worker answered no JSON')
  const { value, thrown: error, unserialisable } = message
  if (typeof error === 'string') return fail('tool_failed', 'failed.', error)
  if (typeof unserialisable === 'string') {
    return fail('unserialisable', 'returned a value that cannot be written as JSON.', unserialisable)
  }
  const fault = value === undefined ? undefined : plainFault(value, RESULT_LIMITS)
  if (fault) return fail('result_unusable', 'answered with unusable JSON.', fault.message)
  return toOutcome(redact.json(value), compat)
}
