import { encodeLabels, REFUSALS, type Series } from '../../contract/metrics.ts'
import type { Setup } from '../../contract/setup.ts'
import { EDGE_TENANT } from '../../contract/tenants.ts'
import { messageOf } from '../../contract/thrown.ts'
import { pause } from '../../contract/time-limit.ts'
import type { Caller } from '../../contract/tool.ts'
import type { ProblemDetails } from '../problem.ts'
import type { WaitUntil } from '../request-context.ts'

/** For how long an isolate collects refusals before it counts them: many requests make few writes. */
const COLLECT_MS = 5000

/**
 * Counts a request that was refused for its tenant, or for the edge if it has none, unless its status is of another kind.
 * Refusals that an isolate has collected when it ends are lost.
 */
export function countRefusal(
  {
    setup,
    caller,
    waitUntil,
  }: { readonly setup: Setup; readonly caller?: Caller | undefined; readonly waitUntil: WaitUntil },
  { status, code }: Pick<ProblemDetails, 'status' | 'code'>,
): void {
  const { isolate, runDirectories } = setup
  if (!runDirectories || !Object.hasOwn(REFUSALS, status)) return
  const isFirst = isolate.refusals === undefined
  const refusals = (isolate.refusals ??= new Map())
  const tenant = caller?.tenant ?? EDGE_TENANT
  const own = refusals.get(tenant) ?? new Map<string, number>()
  refusals.set(tenant, own)
  const labels = encodeLabels({ status: String(status), code })
  own.set(labels, (own.get(labels) ?? 0) + 1)
  if (isFirst) waitUntil(sendLater(setup))
}

async function sendLater(setup: Setup): Promise<void> {
  await pause(COLLECT_MS)
  const { isolate, runDirectories, report } = setup
  const { refusals = new Map() } = isolate
  isolate.refusals = undefined
  await Promise.all(
    Array.from(refusals, async ([tenant, own]) => {
      const series = Array.from(own, ([labels, value]): Series => {
        return { name: 'edgecall_refused_requests', labels, part: 'value', le: 0, value }
      })
      const counted = { run: `refused-${crypto.randomUUID()}`, at: Date.now(), shares: [], series }
      try {
        await runDirectories?.getByName(tenant).countRuns([counted])
      } catch (error) {
        report({ event: 'refusals.not_counted', tenant, detail: messageOf(error) })
      }
    }),
  )
}
