import { setTimeout as sleep } from 'node:timers/promises'
import { type Edge, problemOf, send } from './edge.ts'
import { Failure } from './failure.ts'
import { type ListedTool, listTools } from './listing.ts'
import type { Output } from './output.ts'

export interface ReadyOptions {
  /** Of the wrangler that runs the Workers. */
  readonly output: Pick<Output, 'lastLines' | 'hasFailed'>
  /** The `TOOL_*` service bindings whose Workers are to bring tools. */
  readonly bindings: readonly string[]
  readonly signal: AbortSignal
  /** How long to wait, in milliseconds. Default 30 s. */
  readonly withinMs?: number
}

const CHECK_MS = 150
/** While the Workers are being built, requests are held back: better to ask again. */
const REQUEST_MS = 2000

/**
 * Waits until the edge answers and every tool Worker brings tools. Throws a Failure with the reason: at once where
 * waiting cannot help, else when the time is over.
 */
export async function untilReady(edge: Edge, options: ReadyOptions): Promise<void> {
  const { output, signal, withinMs = 30_000 } = options
  const deadline = Date.now() + withinMs
  for (;;) {
    const obstacle = await findObstacle(edge, options)
    signal.throwIfAborted()
    if (obstacle === undefined) return
    if (obstacle.lasting) throw new Failure(obstacle.reason, output.lastLines())
    if (Date.now() > deadline) {
      const late = `Not ready after ${withinMs / 1000} s: ${obstacle.reason}`
      throw new Failure(late, `wrangler said last:\n${output.lastLines()}`)
    }
    await sleep(CHECK_MS)
  }
}

interface Obstacle {
  readonly reason: string
  /** Waiting cannot help. */
  readonly lasting: boolean
}

async function findObstacle(edge: Edge, options: ReadyOptions): Promise<Obstacle | undefined> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(REQUEST_MS)])
  try {
    const health = await send(edge, { method: 'GET', path: '/health' }, signal)
    if (!health.ok) {
      const { code, message } = await problemOf(health)
      return { reason: `GET /health: ${message}`, lasting: code === 'misconfigured' }
    }
    const reason = absence(await listTools(edge, signal), options.bindings)
    return reason === undefined ? undefined : { reason, lasting: false }
  } catch (error) {
    // Code that does not build: wrangler told of it, and waits for somebody to mend it.
    if (options.output.hasFailed()) return { reason: 'The Workers cannot start. wrangler says:', lasting: true }
    return { reason: error instanceof Failure ? error.message : 'the edge does not answer', lasting: false }
  }
}

/** Which tool Workers are missing, and why; undefined where each has brought a tool at least. */
function absence(tools: readonly ListedTool[], bindings: readonly string[]): string | undefined {
  const served = tools.filter((tool) => tool.source === 'service')
  const broken = served.filter((tool) => !tool.available)
  const silent = bindings.filter((binding) => !served.some((tool) => tool.place === binding))
  if (broken.length + silent.length === 0) return undefined
  return [
    ...broken.map(({ name, reason = 'not available' }) => `${name}: ${reason}`),
    ...silent.map((binding) => `${binding}: it brings no tools`),
  ].join('\n')
}
