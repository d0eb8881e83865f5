import type { Platform } from './invocation.ts'

type Method = (this: unknown, ...args: unknown[]) => unknown

const BODY_METHODS = ['text', 'json', 'arrayBuffer', 'bytes', 'blob', 'formData']
const CRYPTO_METHODS = ['digest', 'sign', 'verify', 'importKey', 'deriveBits', 'encrypt', 'decrypt']

/** Holds what every module can use without a binding: `fetch`, bodies, and what code waits for. */
export function holdGlobals(platform: Platform): void {
  const { fetch, setTimeout } = globalThis
  globalThis.fetch = (...request: Parameters<typeof fetch>) =>
    platform.connect(`fetch of ${addressOf(request[0])}`, () => fetch(...request))
  for (const owner of [Request.prototype, Response.prototype])
    patch(owner, BODY_METHODS, (name, run) => platform.follow(`the ${name} of a body`, run()))
  // Only their time counts: a stream is not read whole.
  const noteTime = (_: string, run: () => unknown) => {
    const invocation = platform.current
    const result = run()
    if (invocation && result instanceof Promise) {
      const resume = () => platform.resume(invocation)
      result.then(resume, resume)
    }
    return result
  }
  patch(ReadableStreamDefaultReader.prototype, ['read'], noteTime)
  patch(ReadableStreamBYOBReader.prototype, ['read', 'readAtLeast'], noteTime)
  patch(Object.getPrototypeOf(crypto.subtle), CRYPTO_METHODS, noteTime)
  const setTimer = (work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const invocation = platform.current
    const run = (...args: unknown[]) => {
      platform.resume(invocation)
      work(...args)
    }
    return setTimeout(run, ms, ...args)
  }
  Object.defineProperty(globalThis, 'setTimeout', { value: setTimer, configurable: true, writable: true })
}

function addressOf(request: unknown): string {
  const url = request instanceof Request ? request.url : String(request)
  return URL.parse(url)?.host ?? url.slice(0, 60)
}

function patch(owner: object, names: readonly string[], around: (name: string, run: () => unknown) => unknown): void {
  for (const name of names) {
    const method: unknown = Reflect.get(owner, name)
    if (typeof method !== 'function') continue
    const replacement: Method = function (...args) {
      return around(name, () => Reflect.apply(method, this, args))
    }
    Object.defineProperty(owner, name, { value: replacement, configurable: true, writable: true })
  }
}
