import { WorkerEntrypoint } from 'cloudflare:workers'
import type { OutcomeService, OutcomeReport, ReportReply } from '../../contract/later.ts'
import { type MakeSetup, setupOf } from '../../contract/setup.ts'
import { Problem } from '../problem.ts'
import { reportedCall, takeReport } from '../runs/take-report.ts'

/**
 * Makes the entrypoint of an edge to which Workers report over a service binding: a tool Worker, a Workflow or the
 * consumer of a queue. The edge needs the part `reportedOutcomes`.
 *
 * @example
 * import { createEdge, openaiFromEnv, reportedOutcomes, serveOutcomes } from 'edgecall'
 *
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, use: [reportedOutcomes] })
 * export const Outcomes = serveOutcomes(edge.setup)
 */
export function serveOutcomes<Env extends object>(
  makeSetup: MakeSetup<Env>,
): new (ctx: ExecutionContext, env: Env) => WorkerEntrypoint<Env> & OutcomeService {
  return class extends WorkerEntrypoint<Env> {
    async report(token: string, report: OutcomeReport): Promise<ReportReply> {
      try {
        const setup = setupOf(makeSetup, this.env)
        const call = await reportedCall(setup, token)
        const size = JSON.stringify(report)?.length ?? 0
        if (size > setup.config.maxBodyBytes) {
          throw new Problem({ status: 413, code: 'body_too_large', message: 'The report is too large.' })
        }
        await takeReport(setup, call, report)
        return { ok: true }
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        const { code, message } = error.details
        return { ok: false, error: { code, message } }
      }
    }
  }
}
