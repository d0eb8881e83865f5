import { shellCommand } from './command/shell.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EdgeAddress, problemOf, send } from './edge.ts'
import { Failure } from './failure.ts'
import { type ListedTool, listAllTools } from './listing.ts'
import type { Output } from './output.ts'

export interface ReadyOptions {
  /** The output of the wrangler that runs the Workers. */
  readonly output: Pick<Output, 'lastLines' | 'hasFailed'>
  readonly signal: AbortSignal
  /** Is told every `slowMs` milliseconds, by default 30 s, why the edge does not answer yet. */
  readonly onSlow: (message: string) => void
  readonly slowMs?: number
  /** How long an edge that answers may wait for a tool Worker, in milliseconds. Default 5 s. */
  readonly patienceMs?: number
}

const CHECK_MS = 150
/** A hint for failed builds: wrangler names the file relative to its Worker's folder, but not the Worker. */
const WHICH = `To see which Worker it is: ${shellCommand('deploy --dry-run')}`
/**
 * The time limit of the first request, in milliseconds: wrangler holds requests back while it builds, so asking again is
 * faster. On a busy machine an answer takes longer: each request gets `REQUEST_MORE_MS` more than the one before.
 */
const REQUEST_MS = 2000
const REQUEST_MORE_MS = 500

/**
 * Waits until the edge answers and lists every tool Worker as available, and returns those that it does not list so in
 * time. For the edge itself it waits however long that takes, since a machine may be busy; throws a Failure with the
 * reason if waiting cannot help.
 */
export async function untilReady(edge: EdgeAddress, options: ReadyOptions): Promise<readonly ListedTool[]> {
  const { output, signal, onSlow, slowMs = 30_000, patienceMs = 5000 } = options
  const startedAt = Date.now()
  let slowAt = startedAt + slowMs
  let patience: number | undefined
  for (let requestMs = REQUEST_MS; ; requestMs += REQUEST_MORE_MS) {
    const obstacle = await findObstacle(edge, options, requestMs)
    signal.throwIfAborted()
    if (!('reason' in obstacle)) {
      patience ??= Date.now() + patienceMs
      if (obstacle.length === 0 || Date.now() >= patience) return obstacle
      await sleep(CHECK_MS)
      continue
    }
    const log = obstacle.isPlain && !output.hasFailed() ? '' : output.lastLines()
    if (obstacle.lasting) throw new Failure(obstacle.reason, log.includes('Build failed') ? `${log}\n\n${WHICH}` : log)
    if (Date.now() >= slowAt) {
      onSlow(`Not ready yet after ${Math.round((Date.now() - startedAt) / 1000)} s: ${obstacle.reason}`)
      slowAt += slowMs
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

/** Returns why the edge does not answer, or the tool Workers that it lists as unavailable. */
async function findObstacle(
  edge: EdgeAddress,
  options: ReadyOptions,
  requestMs: number,
): Promise<Obstacle | readonly ListedTool[]> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(requestMs)])
  try {
    const health = await send(edge, { method: 'GET', path: '/health' }, signal)
    if (!health.ok) {
      const { code, message } = await problemOf(health)
      const isPlain = code === 'misconfigured'
      return { reason: isPlain ? message : `GET /health: ${message}`, isPlain, lasting: isPlain }
    }
    // A tool whose name clashes with another is listed by its own name; waiting cannot help it.
    return (await listAllTools(edge, signal)).filter(
      ({ name, source, place, available, accepted }) =>
        source === 'service' && !available && accepted === undefined && name === place,
    )
  } catch (error) {
    // The code does not build: wrangler has reported it and waits for a change of the files.
    if (options.output.hasFailed())
      return { reason: 'The Workers cannot start. wrangler says:', isPlain: false, lasting: true }
    const reason = error instanceof Failure ? error.message : 'the edge does not answer'
    return { reason, isPlain: false, lasting: false }
  }
}
