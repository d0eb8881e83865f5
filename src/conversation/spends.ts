import type { Spend } from '../contract/budget.ts'
import { parseJson } from '../contract/json.ts'
import { isTerminal } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import type { RunState } from '../loop/state.ts'
import type { NoticeTable } from './notices.ts'

/** What waits to be counted for the key of a run. */
interface Due {
  readonly tenant: string
  readonly spend: Spend
}

const FIRST_WAIT_MS = 5000
const MOST_WAIT_MS = 60 * 60 * 1000

/**
 * What a run has used, to be counted for the key of its caller; undefined where none is counted, or while the run goes on.
 * One that waits is counted up to there: it may wait for long.
 */
export function spendOf({ request, status, usage }: RunState, at: number): Due | undefined {
  const { budget, runId: run, caller } = request
  if (!budget || caller.key === undefined || !(isTerminal(status) || status === 'waiting')) return undefined
  const { inputTokens, outputTokens, cost = 0 } = usage
  return { tenant: caller.tenant, spend: { run, key: caller.key, at, tokens: inputTokens + outputTokens, cost } }
}

/**
 * Tells the tenant's directory what is due by then. What it could not be told is told again later, however often; it counts
 * a run once.
 */
export async function sendSpends(
  spends: NoticeTable,
  { by, now, setup }: { readonly by: number; readonly now: () => number; readonly setup: Setup },
): Promise<void> {
  for (const { id, body, attempt } of spends.due(by)) {
    const due = parseJson(body)
    try {
      if (isDue(due)) await setup.directories.getByName(due.tenant).count(due.spend)
      spends.drop(id)
    } catch (error) {
      spends.delay(id, now() + Math.min(FIRST_WAIT_MS * 2 ** attempt, MOST_WAIT_MS))
      setup.report({ event: 'spend.failed', id, attempt: attempt + 1, detail: String(error) })
    }
  }
}

/** Rows are written by this object alone: what is an object at all is taken for what it was. */
function isDue(value: unknown): value is Due {
  return typeof value === 'object' && value !== null
}
