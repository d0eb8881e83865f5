import { withEnv } from 'cloudflare:workers'
import { heldEnv, judgeVariables } from './bindings.ts'
import { holdGlobals } from './globals.ts'
import { Place, Platform, type PlanTerms } from './invocation.ts'
import { holdStorage } from './object.ts'

/*
 * The stand-in for Cloudflare's limits. `holdWorkers` (src/testing) writes a module that imports that of a Worker and
 * exports it as this makes it, so no deployed bundle has any of it, and the code of a project does not change.
 */

type Method = (...args: unknown[]) => unknown
type Constructor = new (ctx: DurableObjectState, env: object) => object

/** The exports of a Worker, by name. */
type Exports = Readonly<Record<string, unknown>>

/** Returns the exports of a Worker, held to the limits of a plan. */
export function hold(exports: Exports, terms: PlanTerms): Exports {
  const platform = new Platform(terms)
  holdGlobals(platform)
  const envs = new WeakMap<object, object>()
  const envOf = (env: object): object => {
    const earlier = envs.get(env)
    if (earlier) return earlier
    if (!isJudged) judgeVariables(platform, env)
    isJudged = true
    const bindings = heldEnv(platform, env)
    envs.set(env, bindings)
    return bindings
  }
  let isJudged = false
  const worker = new Place('the Worker', false)
  const ports = { platform, envOf, worker }
  return Object.fromEntries(
    Object.entries(exports).map(([name, value]) => {
      if (isClass(value)) return [name, heldClass(name, value, ports)]
      return [name, name === 'default' && isRecord(value) ? heldHandlers(value, ports) : value]
    }),
  )
}

interface Ports {
  readonly platform: Platform
  readonly envOf: (env: object) => object
  readonly worker: Place
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isClass(value: unknown): value is Constructor {
  return typeof value === 'function' && isRecord(value.prototype) && runtimeClassOf(value) !== undefined
}

/** Returns the class of the runtime that a class extends, by its name. */
function runtimeClassOf(value: object): string | undefined {
  for (let base: unknown = value; typeof base === 'function'; base = Object.getPrototypeOf(base))
    if (/^(?:DurableObject|WorkerEntrypoint|WorkflowEntrypoint)(?:Base)?$/.test(base.name)) return base.name
  return undefined
}

/** Returns a class whose instances have the held env, and each of whose methods is an invocation when it is called. */
function heldClass(name: string, base: Constructor, { platform, envOf, worker }: Ports): Constructor {
  const isObject = runtimeClassOf(base)?.startsWith('DurableObject') === true
  const places = new WeakMap<object, Place>()
  const Subclass = class extends base {
    constructor(ctx: DurableObjectState, env: object) {
      const bindings = envOf(env)
      if (isObject) holdStorage(platform, ctx)
      const place = isObject ? new Place(`${name} ${ctx.id.toString()}`, true) : worker
      super(ctx, bindings)
      places.set(this, place)
    }
  }
  Object.defineProperty(Subclass, 'name', { value: name })
  for (const [method, own] of methodsOf(base.prototype)) {
    const where = method === 'fetch' ? name : `${name}.${method}`
    const entry = function (this: { readonly env?: object }, ...args: unknown[]): unknown {
      const place = places.get(this) ?? worker
      const run = () => Reflect.apply(own, this, args)
      const title = method === 'fetch' ? `${where} ${titleOf(args[0])}` : where
      return platform.enter(title, place, () =>
        method === 'alarm' ? heldAlarm(platform, args[0], run) : withEnv(this.env ?? {}, run),
      )
    }
    Object.defineProperty(Subclass.prototype, method, { value: entry, configurable: true, writable: true })
  }
  return Subclass
}

/** Returns the methods of a prototype and of those above it, but for what the runtime gives. */
function methodsOf(prototype: object): ReadonlyMap<string, Method> {
  const methods = new Map<string, Method>()
  for (let owner = prototype; owner !== Object.prototype && owner !== null; owner = Object.getPrototypeOf(owner)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner)))
      if (name !== 'constructor' && typeof value === 'function' && !methods.has(name)) methods.set(name, value)
  }
  return methods
}

/** Runs an alarm. Reports it when it throws and is not tried again. */
async function heldAlarm(platform: Platform, info: unknown, run: () => unknown): Promise<void> {
  try {
    await run()
  } catch (error) {
    const retries = isRecord(info) ? Number(info['retryCount'] ?? 0) : 0
    const { alarmRetries } = platform.figures
    if (retries >= alarmRetries)
      platform.report(
        'alarmRetries',
        `The alarm has thrown ${retries + 1} times, and is not tried again: ${String(error)}`,
      )
    throw error
  }
}

/** Returns the handlers of a default export, each call of which is an invocation. */
function heldHandlers(handlers: Record<string, unknown>, { platform, envOf, worker }: Ports): object {
  const copy = Object.create(handlers)
  const names = [...Object.keys(handlers), ...methodsOf(Object.getPrototypeOf(handlers)).keys()]
  for (const name of names) {
    const own = handlers[name]
    if (typeof own !== 'function' || isClass(own)) continue
    const value = (...[event, env, ...rest]: unknown[]) => {
      const heldEnv = isRecord(env) ? envOf(env) : env
      const run = () => Reflect.apply(own, handlers, [event, heldEnv, ...rest])
      return platform.enter(name === 'fetch' ? titleOf(event) : name, worker, () =>
        isRecord(heldEnv) ? withEnv(heldEnv, run) : run(),
      )
    }
    Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return copy
}

function titleOf(request: unknown): string {
  return request instanceof Request ? `${request.method} ${new URL(request.url).pathname}` : 'fetch'
}
