import type { RunFault } from '../../contract/fault.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { loopPorts, type RunPorts } from '../../loop/running.ts'
import type { RunState } from '../../loop/state.ts'
import type { Store } from '../store/store.ts'

/**
 * Returns what `loopPorts` returns, except that `report` also stores each fault for operators, without the edge's secrets.
 * A fault that cannot be stored is still logged.
 */
export function recordingPorts(
  { setup, store, now }: { readonly setup: Setup; readonly store: Store; readonly now: () => number },
  { state, runId }: { readonly state: RunState; readonly runId: string },
): Pick<RunPorts, 'loop' | 'report'> {
  const ports = loopPorts(setup, runId)
  return {
    ...ports,
    report: (fault: RunFault) => {
      ports.report(fault)
      if (store.life() !== 'open') return
      const step = state.step?.step
      const storedFault = { at: now(), ...(step !== undefined && { step }), ...fault }
      try {
        store.faults.add(runId, setup.secrets?.json(storedFault) ?? storedFault)
      } catch (error) {
        setup.report({ event: 'fault.not_stored', runId, detail: messageOf(error) })
      }
    },
  }
}
