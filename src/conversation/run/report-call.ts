import type { Refusal, Reply } from '../../contract/conversation.ts'
import { canonicalJson } from '../../contract/json.ts'
import type { CallReport } from '../../contract/later.ts'
import { type AgentStanding, isTerminal } from '../../contract/run.ts'
import type { ToolOutcome } from '../../contract/tool.ts'
import type { AcceptPorts } from './accept-run.ts'
import { DELETED, PARKED, refusalOf, UNKNOWN_RUN } from './cancel-run.ts'
import { outcomeOf } from './children.ts'
import type { OpenRun } from './open-runs.ts'

export interface ReportedCallIds {
  readonly runId: string
  readonly callId: string
}

/**
 * Takes a report on a call that its tool answers later. An outcome counts once, also if it comes before the tool has
 * said that it answers later; the same one again changes nothing.
 */
export function reportCall(
  ports: Pick<AcceptPorts, 'store' | 'runner' | 'alarms'>,
  { runId, callId }: ReportedCallIds,
  report: CallReport,
): Reply<object> {
  const { store, runner, alarms } = ports
  const row = store.runs.row(runId)
  if (!row) return UNKNOWN_RUN
  if (row.status === 'parked') return PARKED
  const before = store.fullResults.report(runId, callId)
  if (before) {
    return 'outcome' in report && canonicalJson(before) === canonicalJson(report.outcome) ? { ok: true } : TOO_LATE
  }
  const open = runner.runs.find(runId)
  const { step, status } = open?.state ?? {}
  const call = step?.calls.find((candidate) => candidate.callId === callId)
  if (!open || !call || status === 'cancelling' || !(call.status === 'deferred' || call.status === 'started')) {
    return TOO_LATE
  }
  if ('standing' in report) takeStanding(ports, callId, report.standing, open)
  else if ('progress' in report) open.journal.showNow({ type: 'call.progress', callId, ...report.progress })
  else runner.report(open, call, report.outcome)
  alarms.touch()
  return { ok: true }
}

const TOO_LATE: Refusal = refusalOf('call_already_answered', 'Nobody waits for this call any more.')

/** Notes how the run of an agent stands, shows it to readers, and tells the run above, if there is one. */
function takeStanding(
  { store, runner, alarms }: Pick<AcceptPorts, 'store' | 'runner' | 'alarms'>,
  callId: string,
  standing: AgentStanding,
  open: OpenRun,
): void {
  store.children.setStanding(callId, standing)
  open.journal.showNow({ type: 'call.progress', callId, data: { standing } })
  const before = open.state.wait
  runner.reviewWait(open)
  // One that has begun to wait for others has been reported.
  if (open.state.wait === before || open.state.wait?.for === 'agent') alarms.reportUnended(open.stored.id)
}

/** Returns the outcome of the call that a run is for, that of an agent; none while it is not known. */
export async function outcomeOfRun(
  { store, alarms }: Pick<AcceptPorts, 'store' | 'alarms'>,
  runId: string,
): Promise<Reply<{ outcome?: ToolOutcome }>> {
  const agent = store.runs.request(runId)?.agent?.path.at(-1)?.agent
  const { status = 'queued' } = store.runs.row(runId) ?? {}
  if (agent === undefined) return UNKNOWN_RUN
  // What its agents had done is known once their runs have ended.
  const isPending = () =>
    status === 'cancelled' && store.children.ofRun(runId).some(({ call }) => store.outbox.isCancelling(call))
  if (isPending()) await alarms.reportRuns()
  if (store.life() !== 'open') return DELETED
  const isOver = isTerminal(status) && !isPending()
  return { ok: true, ...(isOver && { outcome: outcomeOf(store, runId, agent) }) }
}
