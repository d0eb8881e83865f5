import { Hono } from 'hono/tiny'
import type { EdgeEnv } from '../context.ts'
import { countAddress, countReport, MOST_PUBLIC_BYTES } from '../middleware/rate.ts'
import { readJson } from '../request-body.ts'
import { reportedCall, takeReport } from '../runs/take-report.ts'
import type { Surface } from '../surface.ts'
import { WorkerEntrypoint } from 'cloudflare:workers'
import type { OutcomeReport, OutcomeService, ReportReply } from '../../contract/later.ts'
import { type MakeSetup, setupOf } from '../../contract/setup.ts'
import { Problem } from '../problem.ts'

const app = new Hono<EdgeEnv>()

/** `/outcomes`: where tools report on calls that they answer later. The token in the path is the right to do so. */
export const outcomes: Surface = { routes: { '/outcomes': app }, isPublic: true, limitsRate: true }

app.post('/:token', async (c) => {
  const { setup } = c.env
  const token = c.req.param('token')
  const call = await reportedCall(setup, token).catch((error: unknown) => {
    countAddress(setup, c.req.raw)
    throw error
  })
  countReport(setup, token, c.req.raw)
  const body = await readJson(c.req.raw, Math.min(setup.config.maxBodyBytes, MOST_PUBLIC_BYTES))
  await takeReport(setup, call, body)
  return c.json({ ok: true })
})

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
