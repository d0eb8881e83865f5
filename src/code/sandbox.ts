/**
 * The sandbox that code written by others runs in: the code of stored tools, and the programs of models. Each is a dynamic
 * Worker without network, bindings and modules, unless its host grants it something.
 *
 * workerd alone, as `npm start` runs it, does not enforce `limits`: a loop that never ends stands still with its whole
 * process there, and memory is not bounded either. The platform ends such a Worker, and its request fails.
 */

/** The part of a `worker_loaders` binding that is used here. */
export interface CodeLoader {
  get(id: string, code: () => WorkerCode): LoadedWorker
  load(code: WorkerCode): LoadedWorker
}

export interface WorkerCode {
  readonly compatibilityDate: string
  readonly compatibilityFlags: readonly string[]
  readonly mainModule: string
  readonly modules: Readonly<Record<string, string | { readonly js: string }>>
  readonly globalOutbound: unknown
  readonly limits: { readonly cpuMs: number; readonly subRequests: number }
}

export interface LoadedWorker {
  getEntrypoint(): { fetch(url: string, init?: RequestInit): Promise<Response> }
}

/**
 * The modules that any Worker can import, whatever its flags: they have `waitUntil`, with which work outlives its call,
 * sockets, and the entrypoint itself. A module that a Worker is loaded with takes the place of a built-in one of its name,
 * but for `node:process`. So code may import nothing (`importOf`), and this is a second barrier.
 */
const PLATFORM_MODULES = [
  'cloudflare:ai',
  'cloudflare:br',
  'cloudflare:durable-objects',
  'cloudflare:email',
  'cloudflare:internal-class',
  'cloudflare:node',
  'cloudflare:pipelines',
  'cloudflare:sockets',
  'cloudflare:vectorize',
  'cloudflare:workers',
  'cloudflare:workflows',
]

const missing = (name: string) => ({
  js: `throw new Error('This code cannot import ${name}: it has the globals of the web alone.')\n`,
})

/** What every dynamic Worker is made of, beside its own modules. */
export const SANDBOX = {
  compatibilityDate: '2026-10-23',
  // Without both flags, modules of Node can be imported, which have real clocks and timers.
  compatibilityFlags: ['no_nodejs_compat', 'no_nodejs_compat_v2', 'disallow_importable_env'],
  modules: Object.fromEntries(PLATFORM_MODULES.map((name) => [name, missing(name)])),
} as const
