import { act } from './act.ts'
import { ask } from './ask.ts'
import { decide } from './decide.ts'
import { recover } from './recover.ts'
import type { Running, RunPorts } from './running.ts'
import { fold, type RunState } from './state.ts'

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
    now,
    signal: AbortSignal.any([ports.signal, timeUp.signal]),
    commit: (events) => {
      for (const event of events) fold(state, event)
      ports.journal.commit(events, state)
    },
  }
  running.commit(recover(state, now()))
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    for (;;) {
      if (ports.signal.aborted && state.status === 'running') running.commit([{ type: 'run.cancelling' }])
      const next = decide(state, now())
      if (Number.isFinite(state.deadline)) timer ??= setTimeout(() => timeUp.abort(), state.deadline - now())
      switch (next.do) {
        case 'record':
          running.commit(next.events)
          break
        case 'ask':
          await ask(running, next.step)
          break
        case 'call':
          await act(running, next.calls)
          break
        case 'wait':
        case 'end':
          return state
      }
    }
  } finally {
    clearTimeout(timer)
  }
}
