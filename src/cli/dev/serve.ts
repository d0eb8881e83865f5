import { Failure } from '../failure.ts'
import type { Changes, FileChange } from './changes.ts'

/** How the Workers of a project are started. */
export interface Stage<Session> {
  /**
   * Starts the Workers as the files are now, does the work once they are ready, and ends them. Throws a Failure if they
   * cannot start or end by themselves, and the reason of the signal if that aborts.
   */
  readonly play: (options: PlayOptions<Session>) => Promise<void>
  /** What is done while they serve. Resolves when they must be started again. */
  readonly serve: (session: Session) => Promise<void>
  readonly print: (text: string) => void
}

export interface PlayOptions<Session> {
  readonly signal: AbortSignal
  readonly work: (session: Session) => Promise<void>
}

/** The changes for which Workers that are being started are started again, since they may have read the file already. */
const OF_WORKERS: readonly FileChange[] = ['setup', 'definitions', 'code']

/** The reason why a start is given up: the files are not what they were. */
const OUTDATED = new Error('The files have changed.')

/**
 * Serves a project until the signal aborts. It is always in one of three states, and a change of a file leaves each of
 * them: Workers that start are started again, those that serve follow it or are started again, and after a failure, when
 * nothing runs, they are started.
 */
export async function serveForever<Session>(
  stage: Stage<Session>,
  changes: Changes,
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    try {
      await startAndServe(stage, changes, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error === OUTDATED) changes.clear()
      else await failed(error, { stage, changes, signal })
    }
    stage.print('\nRestarting, since the files have changed\n')
  }
}

async function startAndServe<Session>(
  { play, serve }: Stage<Session>,
  changes: Changes,
  signal: AbortSignal,
): Promise<void> {
  const outdated = new AbortController()
  const ready = new AbortController()
  const untilReady = AbortSignal.any([signal, ready.signal])
  const start = play({
    signal: AbortSignal.any([signal, outdated.signal]),
    work: async (session) => {
      ready.abort()
      await serve(session)
    },
  })
  changes.arrival(OF_WORKERS, untilReady).then(
    () => outdated.abort(OUTDATED),
    () => {},
  )
  try {
    await start
  } finally {
    ready.abort()
  }
}

interface FailedOptions {
  readonly stage: Pick<Stage<unknown>, 'print'>
  readonly changes: Changes
  readonly signal: AbortSignal
}

/** Prints a Failure, and waits for the change of any file. Throws any other error. */
async function failed(error: unknown, { stage, changes, signal }: FailedOptions): Promise<void> {
  if (!(error instanceof Failure)) throw error
  const hint = error.hint === '' ? '' : `${error.hint}\n`
  stage.print(`${error.message}\n${hint}Waiting for a change of the files…\n`)
  await changes.next(signal)
}
