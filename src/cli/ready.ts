import { setTimeout as sleep } from 'node:timers/promises'
import { type EdgeAddress, problemOf, send } from './edge.ts'
import { Failure } from './failure.ts'
import { type ListedTool, listTools } from './listing.ts'
import type { Output } from './output.ts'

export interface ReadyOptions {
  /** The output of the wrangler that runs the Workers. */
  readonly output: Pick<Output, 'lastLines' | 'hasFailed'>
  readonly signal: AbortSignal
  /** How long to wait, in milliseconds. Default 30 s. */
  readonly withinMs?: number
}

const CHECK_MS = 150
/** A hint for failed builds: wrangler names the file relative to its Worker's folder, but not the Worker. */
const WHICH = 'To see which Worker it is: npx edgecall deploy --dry-run'
/**
 * The time limit of a request, in milliseconds: wrangler holds requests back while it builds, so asking again is
 * faster.
 */
const REQUEST_MS = 2000

/**
 * Waits until the edge answers and lists every tool Worker as available. Throws a Failure with the reason: at once if
 * waiting cannot help, else after the time limit.
 */
export async function untilReady(edge: EdgeAddress, options: ReadyOptions): Promise<void> {
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
  /** The edge itself gives the reason, so wrangler's output is shown only if it has an error. */
  readonly isPlain: boolean
  /** Whether waiting cannot help. */
  readonly lasting: boolean
}

async function findObstacle(edge: EdgeAddress, options: ReadyOptions): Promise<Obstacle | undefined> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(REQUEST_MS)])
  try {
    const health = await send(edge, { method: 'GET', path: '/health' }, signal)
    if (!health.ok) {
      const { code, message } = await problemOf(health)
      const isPlain = code === 'misconfigured'
      return { reason: isPlain ? message : `GET /health: ${message}`, isPlain, lasting: isPlain }
    }
    const isBroken = ({ source, available, accepted }: ListedTool) =>
      source === 'service' && !available && accepted === undefined
    const broken = (await listTools(edge, signal)).filter(isBroken)
    if (broken.length === 0) return undefined
    const reasons = broken.map(({ name, reason = 'not available' }) => `${name}: ${reason}`)
    // The edge logs the details, which it tells no caller.
    return { reason: reasons.join('\n'), isPlain: false, lasting: false }
  } catch (error) {
    // The code does not build: wrangler has reported it and waits for a change of the files.
    if (options.output.hasFailed())
      return { reason: 'The Workers cannot start. wrangler says:', isPlain: false, lasting: true }
    const reason = error instanceof Failure ? error.message : 'the edge does not answer'
    return { reason, isPlain: false, lasting: false }
  }
}
