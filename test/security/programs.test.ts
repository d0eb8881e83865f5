import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { runProgram } from '../../src/code/program.ts'
import type { WorkerCode } from '../../src/code/sandbox.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'

let code = ''
let model: ModelServer
let harness: TestHarness
let url: URL

beforeAll(async () => {
  model = await startModelServer(({ body }) => {
    const last: any = body.messages.at(-1)
    if (last.role === 'tool') return { chunks: chunksOf({ text: 'Done.' }) }
    return { chunks: chunksOf({ calls: [{ tool: 'run_code', arguments: JSON.stringify({ code }) }] }) }
  })
  const vars = { OPENAI_API_KEY: 'sk', OPENAI_BASE_URL: model.baseUrl, MODEL: 'openai/gpt' }
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      { configPath: 'test/fixtures/code-edge/wrangler.toml', vars },
      { configPath: 'test/fixtures/program-tools/wrangler.toml' },
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness.close()
  await model.close()
})

/** Runs a program, and returns what the model is told of it, and the tools that it has called. */
async function run(program: string): Promise<{ readonly text: string; readonly tools: readonly string[] }> {
  code = program
  const response = await fetch(new URL('/runs', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'go' }),
  })
  const { calls } = (await response.json()) as any
  const [call, ...inner] = calls
  const text = call.error?.message ?? call.content.map((part: { text: string }) => part.text).join('\n')
  return { text, tools: inner.map(({ tool, ok }: any) => `${tool} ${ok}`) }
}

/** Hostile programs, and what the model is told of them. */
const HOSTILE: Readonly<Record<string, readonly [program: string, text: string | RegExp]>> = {
  'calls without end': [
    'for (let index = 0; ; index += 1) await tools.slow({ name: "n" + index, ms: 0 })',
    /^The program failed: Error: Not run: this run's limit "callsPerTool" is reached\.[^]*\[limit\]\nLine 1: for \(let index/,
  ],
  'makes 100,000 calls at once': [
    'await Promise.all(Array.from({ length: 100000 }, (_, index) => tools.slow({ name: "" + index, ms: 0 })))',
    /^The program (?:made more than 400 calls and timers, and was stopped|returned, or sent with its calls, more than 8388608 characters)/,
  ],
  'calls with 1.9 MB of arguments each': [
    'for (let index = 0; index < 20; index += 1) await tools.slow({ name: "n" + index + "x".repeat(1900000), ms: 0 }).catch(() => {})',
    /^The calls of programs in this run have more than 8388608 characters of arguments together, so the program was stopped\./,
  ],
  'looks up a tool without end': [
    'for (;;) await tools.$describe("slow")',
    /^The program looked up tools more than 100 times, or was told more than 1048576 characters of them, and was stopped\./,
  ],
  'looks up the same tools 100,000 times at once': [
    'const text = await tools.$describe(...Array.from({ length: 100000 }, () => "slow")); return text.length < 2000',
    'true',
  ],
  'searches 100,000 times at once': [
    'await Promise.all(Array.from({ length: 100000 }, (_, index) => tools.$search("slow " + index)))',
    /^The program (?:looked up tools more than 100 times|returned, or sent with its calls, more than 8388608 characters)/,
  ],
  'sets 100,000 timers': [
    'for (let index = 0; index < 100000; index += 1) setTimeout(() => {}, 1); await new Promise((resolve) => setTimeout(resolve, 1))',
    'The program made more than 400 calls and timers, and was stopped.',
  ],
  'waits for ever': [
    'await new Promise(() => {})',
    'The program waits for something that never comes: no call and no timer of it is open.',
  ],
  'recurses without end': [
    'const f = () => f() + 1\nf()',
    'The program failed: RangeError: Maximum call stack size exceeded\nLine 1: const f = () => f() + 1',
  ],
  'prints 50 MB': [
    'console.log("x".repeat(50_000_000))',
    /^Printed:\nx{32768}\n\[50000001 characters were printed; the rest is left out\]$/,
  ],
  'returns 50 MB': [
    'return "x".repeat(50_000_000)',
    'The program returned, or sent with its calls, more than 8388608 characters. Return less.',
  ],
  'sends 50 MB to a tool': [
    'return tools.slow({ name: "x".repeat(50_000_000), ms: 0 })',
    'The program returned, or sent with its calls, more than 8388608 characters. Return less.',
  ],
  'imports a module of the platform': [
    "const { waitUntil } = await import('cloudflare:workers')",
    'The code cannot import anything, and has "import(\'cloudflare:workers\')". It has the globals of JavaScript and `tools`.',
  ],
  'imports a module of Node, outside of its function': [
    "}\nimport fs from 'node:fs'\nexport const more = async () => {",
    /^The code cannot import anything, and has "import fs from/,
  ],
  'makes code of text': [
    'return (async () => {}).constructor(\'return import("node:process")\')()',
    /^The (?:code cannot import anything|program failed: EvalError)/,
  ],
  'makes a function of text': [
    "return Function('return this')()",
    /^The program failed: EvalError: Code generation from strings disallowed/,
  ],
  'evaluates text': [
    "return eval('1')",
    "The program failed: ReferenceError: eval is not defined\nLine 1: return eval('1')",
  ],
  'reaches for the network and for caches': [
    'return [typeof fetch, typeof WebSocket, typeof EventSource, typeof caches, typeof connect, typeof Request].join()',
    'undefined,undefined,undefined,undefined,undefined,undefined',
  ],
  'reaches for the process, its bindings and its host': [
    'return [typeof process, typeof require, typeof env, typeof exports, typeof self, typeof WebAssembly, typeof navigator, String(this)].join()',
    'undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined',
  ],
  'looks for a global of its host on the prototypes': [
    'const names = []\nfor (let at = globalThis; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) names.push(...Object.getOwnPropertyNames(at))\nreturn names.filter((name) => /fetch|cache|socket|stream|request|response|worker|event|perform|sched|abort|crypto/i.test(name)).join()',
    'crypto',
  ],
  'restores the real clock and random numbers': [
    'try { delete globalThis.Date } catch {}\ntry { Math.random = () => 0.5 } catch {}\nconst date = structuredClone(new Date())\nreturn [date.constructor === Date, Date.now() === new Date().getTime(), Math.random() !== 0.5, typeof performance].join()',
    'true,true,true,undefined',
  ],
  'changes the prototypes that its host may use': [
    "Array.prototype.push = Array.prototype.splice = () => { throw new Error('mine') }\nObject.prototype.toJSON = () => ({ asks: [], end: {} })\nJSON.stringify = () => 'forged'\nPromise.prototype.then = () => {}\nreturn 1",
    /^The program (?:broke off|waits for something that never comes|failed|returned nothing|was stopped)/,
  ],
  'forges the id, the key and the run of a call': [
    "return tools.ask({ callId: 'call_x', parent: 'run_y', idempotencyKey: 'k' })",
    /^The program failed: Error: There is no tool "ask"[^]* \[unknown_tool\]\nLine 1/,
  ],
  'calls what is for its model alone': [
    "const names = ['ask', 'run_code', 'read_result', 'tool_search', '__proto__', 'constructor', 'toString']\nreturn (await Promise.all(names.map((name) => tools[name]({}).catch((error) => error.code)))).join()",
    'unknown_tool,unknown_tool,unknown_tool,unknown_tool,unknown_tool,unknown_tool,unknown_tool',
  ],
  'throws what cannot be read': [
    "throw { toString() { throw new Error('no') }, get message() { throw new Error('no') } }",
    /^The program failed/,
  ],
}

describe('a program that', () => {
  test.each(Object.entries(HOSTILE))(
    '%s is refused or bounded, and the model is told why',
    async (_, [program, text]) => {
      const { text: answer } = await run(program)
      if (typeof text === 'string') expect(answer).toBe(text)
      else expect(answer).toMatch(text)
    },
  )

  test('still has a timer and a promise at its end does nothing more', async () => {
    const { text, tools } = await run(
      "setTimeout(() => tools.send({ to: 'a', text: 'late' }), 1)\nvoid new Promise((resolve) => setTimeout(resolve, 1)).then(() => tools.send({ to: 'b', text: 'late' }))\nreturn 'ended'",
    )
    expect([text, tools]).toEqual(['ended', []])
  })

  test('keeps something in its globals leaves nothing to the next', async () => {
    await run('globalThis.secret = 1; Array.prototype.secret = 1; return 1')
    expect((await run('return typeof secret + [].secret')).text).toBe('undefinedundefined')
  })

  test('is loaded has no network, no binding, and limits of time that the platform enforces', async () => {
    const loads: WorkerCode[] = []
    const load = (worker: WorkerCode): never => {
      loads.push(worker)
      throw new Error('not here')
    }
    const calls = { startedAt: 0, seed: '', ask: () => {}, next: async () => undefined }
    const lookups = { describe: async () => '', search: async () => '' }
    const { signal } = new AbortController()
    await runProgram('for (;;) {}', { loader: { load, get: () => load }, calls, lookups, signal } as never)
    const [{ modules, ...worker } = { modules: {} }] = loads
    expect(worker).toEqual({
      compatibilityDate: '2026-10-23',
      compatibilityFlags: ['no_nodejs_compat', 'no_nodejs_compat_v2', 'disallow_importable_env'],
      mainModule: 'main.js',
      globalOutbound: null,
      limits: { cpuMs: 10_000, subRequests: 1 },
    })
    expect(Object.keys(modules).filter((name) => !name.startsWith('cloudflare:'))).toEqual([
      'main.js',
      'kit.js',
      'program.js',
    ])
  })
})
