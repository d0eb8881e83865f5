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
 * but for `node:process`. So code may import nothing (`findImport`), and this is a second barrier.
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

const IDENTIFIER = String.raw`\p{ID_Continue}$\u200c\u200d`

/**
 * Matches each form of an import, and texts in strings and comments that look like one. No import
 * hides from it: a keyword has no escapes, and the platform runs no text as code. The repetitions are bounded, so that the
 * time grows with the length of the text alone.
 */
const IMPORT = new RegExp(
  [
    // `object.import(…)` is a call of a method, `[...import(…)]` an import.
    String.raw`(?<![${IDENTIFIER}])(?<!(?:^|[^.])\.)import(?:`,
    [
      String.raw`\s*['"({/]`,
      // `* as all`, but not the end of a comment.
      String.raw`\s*\*(?!\/(?![*/]))`,
      // `import.source(…)`. What `import.meta` has is harmless.
      String.raw`\s*\.\s*[a-z]+\s*[(/]`,
      String.raw`\s[${IDENTIFIER}\\,\s]{1,400}?(?:[{*/]|from\s*['"/])`,
      String.raw`\s[${IDENTIFIER}\\,\s]{400}`,
    ].join('|'),
    ')|',
    String.raw`(?<![${IDENTIFIER}])export\s*(?:\*(?!\/(?![*/]))|\{[^}/'"]{0,4000}(?:['"/]|\}\s*(?:from|\/))|\{[^}/'"]{4000})`,
  ].join(''),
  'u',
)

/** Returns the beginning of the first import of a module; undefined if it imports nothing. */
export function findImport(module: string): string | undefined {
  const match = IMPORT.exec(module)
  return match
    ? module
        .slice(match.index, match.index + 40)
        .replace(/\s+/g, ' ')
        .trim()
    : undefined
}
