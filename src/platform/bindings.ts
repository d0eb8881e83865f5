import { callMethod, type Platform } from './invocation.ts'
import { heldKeyValue } from './key-value.ts'
import { isObject } from '../contract/json.ts'

/** What stands before each binding, with the binding itself: native code takes only that. */
const originals = new WeakMap<object, object>()
let loadCount = 0

/** Returns the bindings and variables of a Worker, each held to the limits. */
export function heldEnv(platform: Platform, env: object): object {
  return Object.fromEntries(Object.entries(env).map(([name, binding]) => [name, heldBinding(platform, name, binding)]))
}

/** Reports the variables and secrets that are too long to be deployed. */
export function judgeVariables(platform: Platform, env: object): void {
  const { variable } = platform.figures
  for (const [name, value] of Object.entries(env)) {
    const isJson = isObject(value) && Object.getPrototypeOf(value) === Object.prototype
    const text = typeof value === 'string' ? value : isJson ? JSON.stringify(value) : ''
    const bytes = new TextEncoder().encode(text).byteLength
    if (bytes > variable)
      platform.report('variable', `${name} has ${bytes} bytes, and ${variable} are allowed.`, 'its configuration')
  }
}

function heldBinding(platform: Platform, name: string, binding: unknown): unknown {
  if (typeof binding !== 'object' || binding === null) return binding
  switch (Object.prototype.toString.call(binding)) {
    case '[object Fetcher]':
      return heldStub(platform, name, binding)
    case '[object DurableObjectNamespace]':
      return heldNamespace(platform, name, binding)
    case '[object KvNamespace]':
      return standIn(binding, heldKeyValue(platform, name, binding))
    case '[object WorkerLoader]':
      return heldLoader(platform, name, binding)
    case '[object R2Bucket]':
    case '[object WorkerQueue]':
    case '[object Queue]':
      return withMethods(binding, (method, run) => platform.call(`${name}.${method}`, run))
    default:
      return binding
  }
}

/** Stands before a binding with other methods in place of some of its own. */
function standIn(binding: object, methods: Readonly<Record<string, unknown>>): object {
  const proxy = new Proxy(binding, {
    get: (target, key) => {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  originals.set(proxy, binding)
  return proxy
}

/** Stands before a binding, and sees each call of a method. */
function withMethods(binding: object, around: (method: string, run: () => unknown) => unknown): object {
  const proxy = new Proxy(binding, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function' || key === 'then') return value
      if (typeof key === 'symbol' || key === 'dup' || key === 'constructor') return value.bind(target)
      return (...args: unknown[]) => around(key, () => Reflect.apply(value, target, args.map(originalOf)))
    },
  })
  originals.set(proxy, binding)
  return proxy
}

function originalOf(value: unknown): unknown {
  return (typeof value === 'object' && value !== null && originals.get(value)) || value
}

/** A bound Worker or an object: each call of it is a subrequest, and needs no connection. */
function heldStub(platform: Platform, name: string, stub: object): object {
  return withMethods(stub, (method, run) => platform.call(`${name}.${method}`, run))
}

function heldNamespace(platform: Platform, name: string, namespace: object): object {
  const method =
    (key: string, hold: (value: object) => object) =>
    (...args: readonly unknown[]) =>
      hold(Object(callMethod(namespace, key, args)))
  return standIn(namespace, {
    get: method('get', (stub) => heldStub(platform, name, stub)),
    getByName: method('getByName', (stub) => heldStub(platform, name, stub)),
    jurisdiction: method('jurisdiction', (inner) => heldNamespace(platform, name, inner)),
  })
}

/** Dynamic Workers, of which few may be under way at once, and none on the Free plan. */
function heldLoader(platform: Platform, name: string, loader: object): object {
  const refuseOnFree = () => {
    if (platform.figures.dynamicWorkers > 0) return
    platform.report('dynamicWorkers', `${name} is used, and the Free plan has no Dynamic Workers.`)
    throw new Error('Dynamic Workers need the Workers Paid plan.')
  }
  const hold = (worker: object, identity: string) =>
    standIn(worker, {
      getEntrypoint: (...args: readonly unknown[]) => {
        const entrypoint = Object(callMethod(worker, 'getEntrypoint', args))
        return withMethods(entrypoint, (method, run) => underWay(platform, identity, { name, method, run }))
      },
    })
  return standIn(loader, {
    get: (id: string, code: () => unknown) => {
      refuseOnFree()
      const worker = callMethod(loader, 'get', [id, async () => withOriginals(await code())])
      return hold(Object(worker), `get ${id}`)
    },
    load: (code: unknown) => {
      refuseOnFree()
      return hold(Object(callMethod(loader, 'load', [withOriginals(code)])), `load ${loadCount++}`)
    },
  })
}

function withOriginals(code: unknown): unknown {
  if (!isObject(code)) return code
  const { env, globalOutbound } = code
  const inner = isObject(env) ? Object.fromEntries(Object.entries(env).map(([k, v]) => [k, originalOf(v)])) : env
  return {
    ...code,
    ...(env !== undefined && { env: inner }),
    ...(globalOutbound !== undefined && { globalOutbound: originalOf(globalOutbound) }),
  }
}

interface DynamicCall {
  readonly name: string
  readonly method: string
  readonly run: () => unknown
}

/** Calls a Dynamic Worker, which is under way until it has answered, and until the body of its response has ended. */
async function underWay(platform: Platform, identity: string, { name, method, run }: DynamicCall): Promise<unknown> {
  const invocation = platform.current
  if (!invocation) return run()
  const { dynamicWorkers: workers, place } = invocation
  const limit = place.isObject ? 'dynamicWorkersOfObject' : 'dynamicWorkers'
  if (!workers.has(identity) && workers.size >= platform.figures[limit]) {
    const whose = place.isObject ? 'an object' : 'a request'
    platform.report(limit, `${name} begins one more than the ${platform.figures[limit]} of ${whose}.`)
    throw new Error('Too many concurrent dynamic workers')
  }
  workers.set(identity, (workers.get(identity) ?? 0) + 1)
  let isOver = false
  const end = () => {
    if (isOver) return
    isOver = true
    const count = (workers.get(identity) ?? 1) - 1
    if (count > 0) workers.set(identity, count)
    else workers.delete(identity)
  }
  try {
    const result = await platform.call(`${name}.${method}`, run)
    if (!(result instanceof Response) || !result.body) {
      end()
      return result
    }
    return new Response(untilEnd(result.body, end), result)
  } catch (error) {
    end()
    throw error
  }
}

/** Returns a stream of the same bytes, and calls `end` when it ends, fails or is read no more. */
function untilEnd(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        end()
        controller.close()
      } catch (error) {
        end()
        controller.error(error)
      }
    },
    cancel: async (reason) => {
      end()
      await reader.cancel(reason)
    },
  })
}
