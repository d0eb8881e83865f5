import { messageOf } from '../tool/thrown.ts'
import { around, type Around, HookFailure } from './around.ts'
import { equip } from './begin.ts'
import { cutShort } from './decide.ts'
import { drive } from './drive.ts'
import { reconcile } from './reconcile.ts'
import { recover } from './recover.ts'
import { committing, hookContext, type Running, type RunPorts } from './running.ts'
import type { RunState } from './state.ts'
import { failedRun } from './verdict.ts'
import { READ_RESULT, readResultTool } from './whole.ts'

/**
 * Performs a run from where its state stands until it ends or waits for others. What a crash left in flight is
 * settled first. Contract: rejects only where the journal does; then nothing more is recorded.
 */
export async function run(state: RunState, ports: RunPorts): Promise<RunState> {
  const timeUp = new AbortController()
  // In a Worker the clock stands still between events: what the timer says counts, whatever the clock does.
  const now = () => (timeUp.signal.aborted ? Math.max(ports.now(), state.deadline) : ports.now())
  const running: Running = {
    ...ports,
    state,
    tools: new Map([[READ_RESULT, readResultTool(ports.journal, state.request.limits.resultBytes)], ...ports.tools]),
    loop: ports.loop ?? {},
    inFlight: new Map(),
    now,
    signal: AbortSignal.any([ports.signal, timeUp.signal]),
    ...committing(state, ports),
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  const watch = () => {
    if (Number.isFinite(state.deadline)) timer ??= setTimeout(() => timeUp.abort(), state.deadline - now())
  }
  // What an earlier turn cut can be read on too.
  if (ports.history.some((message) => message.role === 'tool' && message.cut !== undefined)) state.readable = true
  const ways = (running.loop.hooks ?? []).flatMap((hook): Around<void, void>[] =>
    hook.run ? [(_, next) => hook.run?.(next, hookContext(running)) ?? next()] : [],
  )
  try {
    if (state.step) await equip(running)
    running.commit(await reconcile(running))
    running.commit(recover(state, now()))
    await around(ways, () => drive(running, { watch, isCancelled: () => ports.signal.aborted }))()
  } catch (error) {
    if (!(error instanceof HookFailure) || state.finished) throw error
    ports.report({ code: 'hook_failed', detail: messageOf(error.cause) })
    const end = failedRun(state, { code: 'hook_failed', message: 'A hook of the edge failed.' })
    running.commit(cutShort(state, 'the run failed', end))
    running.flush()
  } finally {
    clearTimeout(timer)
  }
  return state
}
