import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../cli/command.ts'
import { type ModelCall, startModelServer } from '../fixtures/model-server.ts'
import { type EdgeProcess, makeSite, startEdge } from './edge-process.ts'
import { sentFault } from './history.ts'
import { type Delivery, startRecorder } from './recorder.ts'
import { NEXT_KEY } from './next-edge/key.ts'
import { placeOf, type Point, replyOf, type Script } from './script.ts'

/** While a run is under way, its object wakes up this often, in milliseconds. */
export const WATCHDOG_MS = 10_000
/** An alarm resumes an interrupted run within this time, in milliseconds, which differs by conversation. */
export const SPREAD_MS = 2000
/** How long runs may take to come somewhere, in milliseconds: on a busy machine, and after the alarm and a fence. */
export const PATIENCE_MS = 2 * (WATCHDOG_MS + SPREAD_MS) + 40_000

const EDGE = { name: 'edge', config: 'wrangler.toml' }
const NEXT_EDGE = resolve(import.meta.dirname, 'next-edge/index.ts')

/** A question that the model was asked. */
export interface Ask {
  readonly token: string
  readonly round: number
  /** Which life of the edge asked it, from 1. */
  readonly life: number
  /** Whether the next version of the edge asked it. */
  readonly isNext: boolean
  /** When it was asked, in epoch milliseconds. */
  readonly at: number
}

/** The edge with everything that it talks to, all of it real processes or servers on this machine. */
export interface World {
  /** Where the edge is; nothing while it is dead. */
  readonly url: () => string | undefined
  /** Which life of the edge this is, from 1. */
  readonly life: () => number
  readonly asks: readonly Ask[]
  /** Whether this life of the edge has asked the model for a script. */
  readonly hasAsked: (token: string) => boolean
  readonly effects: readonly Delivery[]
  /** What the model was asked that it must never be. */
  readonly faults: readonly string[]
  /** Makes a script known, before its run is posted. */
  add(script: Script): void
  /** Kills the edge, whatever it is doing, even while it starts. */
  kill(): Promise<void>
  /** Starts the edge on what it has kept, and waits until it answers or is killed. Default: on another port. */
  start(where?: 'the same port' | 'another port'): Promise<void>
  /** Deploys the next version of the edge, whose code is another bundle. Before `start`. */
  deploy(): void
  /** What the Workers wrote last. */
  output(): string
  close(): Promise<void>
}

/** What replaces the module of the edge, as a path from this folder, and its variables. */
export interface EdgeChanges {
  readonly main?: string
  readonly vars?: Readonly<Record<string, string>>
}

/** Makes a world whose edge has not been started. Close it at the end. `vars` and `main` change that edge. */
export async function makeWorld({ vars = {}, main }: EdgeChanges = {}): Promise<World> {
  const scripts = new Map<string, Script>()
  const questions = new Map<string, string>()
  const asks: Ask[] = []
  const faults: string[] = []
  let life = 0
  let port = 0
  let edge: EdgeProcess | undefined
  let url: string | undefined

  const model = await startModelServer(async (call) => {
    const { token, round } = placeOf(call)
    asks.push({ token, round, life, at: Date.now(), isNext: call.headers.authorization === `Bearer ${NEXT_KEY}` })
    note(call, token, round)
    const script = scripts.get(token)
    return script ? replyOf(script, call) : { status: 400, body: { error: { message: `no script "${token}"` } } }
  })
  const recorder = await startRecorder(async ({ what }, place) => {
    const [token = '', round, index] = what.split('/')
    await scripts.get(token)?.pause?.(`${place} ${Number(round)}` satisfies Point, Number(index))
  })
  const edgeChanges = {
    services: [{ binding: 'TOOL_EFFECTS', service: 'effects' }],
    worker_loaders: [{ binding: 'LOADER' }],
    vars: { AUTH: 'open', MODEL: 'openai/scripted', OPENAI_BASE_URL: model.baseUrl, ...vars },
    ...(main !== undefined && { main: resolve(import.meta.dirname, main) }),
  }
  const site = makeSite([
    { ...EDGE, changes: edgeChanges },
    { name: 'effects', config: 'test/faults/effects/wrangler.toml', changes: { vars: { RECORDER: recorder.url } } },
  ])

  /** Each question must be a valid history, and the same one whenever it is asked. */
  function note({ body }: ModelCall, token: string, round: number): void {
    const fault = sentFault(body.messages)
    if (fault) faults.push(`${token}: request ${round} of the model: ${fault}`)
    const question = JSON.stringify(body.messages)
    const before = questions.get(`${token} ${round}`)
    if (before !== undefined && before !== question) {
      faults.push(`${token}: request ${round} of the model changed from ${before} to ${question}`)
    }
    questions.set(`${token} ${round}`, question)
  }

  async function kill(): Promise<void> {
    url = undefined
    const dying = edge
    edge = undefined
    await dying?.kill()
  }

  return {
    url: () => url,
    life: () => life,
    asks,
    hasAsked: (token) => asks.some((ask) => ask.token === token && ask.life === life),
    effects: recorder.effects,
    faults,
    add: (script) => void scripts.set(script.token, script),
    kill,
    start: async (where = 'another port') => {
      if (where === 'another port' || port === 0) port = await freePort()
      life += 1
      for (;;) {
        const process = (edge = startEdge(site, port))
        try {
          await process.ready()
          if (edge === process) url = process.url
          return
        } catch (error) {
          // Another process of this machine has taken the port meanwhile.
          if (!/address already in use/i.test(process.output())) throw error
          await process.kill()
          port = await freePort()
        }
      }
    },
    deploy: () => site.install({ ...EDGE, changes: { ...edgeChanges, main: NEXT_EDGE } }),
    output: () => edge?.output() ?? '',
    close: async () => {
      await kill()
      await Promise.all([model.close(), recorder.close()])
      site.remove()
    },
  }
}

/** Asks the edge again for as long as kills cut the request off. */
export async function insist<Value>(world: World, ask: (url: string) => Promise<Value>): Promise<Value> {
  for (;;) {
    await until(() => world.url() !== undefined, PATIENCE_MS)
    try {
      return await ask(world.url() ?? '')
    } catch (error) {
      // What `fetch` throws where no answer came.
      if (!(error instanceof TypeError)) throw error
    }
  }
}

/** Resolves once something holds, or with false where it does not come to hold in time. */
export async function until(holds: () => boolean, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs
  while (!holds()) {
    if (Date.now() > deadline) return false
    await sleep(10)
  }
  return true
}
