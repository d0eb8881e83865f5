import { setTimeout as sleep } from 'node:timers/promises'
import { type Edge, problemOf, send } from './edge.ts'
import { Failure } from './failure.ts'
import { listTools } from './listing.ts'
import type { Output } from './output.ts'

export interface ReadyOptions {
  /** Of the wrangler that runs the Workers. */
  readonly output: Pick<Output, 'lastLines' | 'hasFailed'>
  readonly signal: AbortSignal
  /** How long to wait, in milliseconds. Default 30 s. */
  readonly withinMs?: number
}

const CHECK_MS = 150
/** wrangler names a file from its Worker's folder, and no Worker. */
const WHICH = 'To see which Worker it is: npm run deploy -- --dry-run'
/** While the Workers are being built, requests are held back: better to ask again. */
const REQUEST_MS = 2000

/**
 * Waits until the edge answers and has heard of every tool Worker what it offers. Throws a Failure with the reason: at
 * once where waiting cannot help, else when the time is over.
 */
export async function untilReady(edge: Edge, options: ReadyOptions): Promise<void> {
  const { output, signal, withinMs = 30_000 } = options
  const deadline = Date.now() + withinMs
  for (;;) {
    const obstacle = await findObstacle(edge, options)
    signal.throwIfAborted()
    if (obstacle === undefined) return
    const log = obstacle.isPlain && !output.hasFailed() ? '' : output.lastLines()
    if (obstacle.lasting) throw new Failure(obstacle.reason, log.includes('Build failed') ? `${log}\n\n${WHICH}` : log)
    if (Date.now() > deadline) {
      const late = `Not ready after ${withinMs / 1000} s: ${obstacle.reason}`
      throw new Failure(late, log && `wrangler said last:\n${log}`)
    }
    await sleep(CHECK_MS)
  }
}

interface Obstacle {
  readonly reason: string
  /** The edge tells of it: what wrangler says beside is of use only where that is an error. */
  readonly isPlain: boolean
  /** Waiting cannot help. */
  readonly lasting: boolean
}

async function findObstacle(edge: Edge, options: ReadyOptions): Promise<Obstacle | undefined> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(REQUEST_MS)])
  try {
    const health = await send(edge, { method: 'GET', path: '/health' }, signal)
    if (!health.ok) {
      const { code, message } = await problemOf(health)
      const isPlain = code === 'misconfigured'
      return { reason: isPlain ? message : `GET /health: ${message}`, isPlain, lasting: isPlain }
    }
    const broken = (await listTools(edge, signal)).filter((tool) => tool.source === 'service' && !tool.available)
    if (broken.length === 0) return undefined
    const reasons = broken.map(({ name, reason = 'not available' }) => `${name}: ${reason}`)
    return { reason: reasons.join('\n'), isPlain: true, lasting: false }
  } catch (error) {
    // Code that does not build: wrangler told of it, and waits for somebody to mend it.
    if (options.output.hasFailed())
      return { reason: 'The Workers cannot start. wrangler says:', isPlain: false, lasting: true }
    const reason = error instanceof Failure ? error.message : 'the edge does not answer'
    return { reason, isPlain: false, lasting: false }
  }
}
