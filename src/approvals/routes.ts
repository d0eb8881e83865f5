import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { readBody } from '../contract/bytes.ts'
import { messageOf } from '../contract/thrown.ts'
import type { EdgeEnv } from '../http/context.ts'
import { countAddress, MOST_PUBLIC_BYTES } from '../http/middleware/rate.ts'
import { Problem } from '../http/problem.ts'
import { bodyTooLarge } from '../http/request-body.ts'
import type { Surface } from '../http/surface.ts'
import type { SignedRequest } from '../triggers/verify.ts'
import {
  type ApproverGroups,
  type BroughtDecision,
  decideAs,
  findAsked,
  readRight,
  requirePerson,
  type Verdict,
} from './approvers.ts'
import { askPage, verdictPage } from './page.ts'

/** The most bytes of the form of the page, and of its reason. */
const MOST_FORM = 16 * 1024
const MOST_REASON = 1000

/**
 * Makes `/approvers/{group}`, to which services bring the decisions of people, signed, and `/approvers/{group}/{token}`, the page
 * of a link. The page shows the call: a program that only opens the links in a mail decides nothing.
 */
export function approverRoutes(groups: ApproverGroups): Surface {
  const app = new Hono<EdgeEnv>()
  app.post('/:group', async (c) => {
    const { setup, waitUntil } = c.env
    const group = c.req.param('group')
    const receive = Object.hasOwn(groups, group) ? groups[group]?.receive : undefined
    if (!receive) throw notFound()
    const decision = await receive(await readRequest(c, MOST_PUBLIC_BYTES), setup.triggerEnv ?? {})
    if (!decision) {
      countAddress(setup, c.req.raw)
      const message = 'The signature is missing, wrong or older than five minutes.'
      throw new Problem({ status: 401, code: 'invalid_signature', message })
    }
    if (decision instanceof Response) return decision
    // The service is answered at once: it gives up after three seconds.
    waitUntil(takeDecision(c, groups, group, decision))
    return c.body(null)
  })
  app.get('/:group/:token', (c) =>
    showPage(c, async () => {
      const { setup } = c.env
      const right = await readRight(setup, c.req.param('group'), c.req.param('token'))
      const person = await requirePerson(setup, right, right.key)
      return askPage(await findAsked(setup, right, person), person)
    }),
  )
  app.post('/:group/:token', (c) =>
    showPage(c, async () => {
      const { setup } = c.env
      const right = await readRight(setup, c.req.param('group'), c.req.param('token'))
      const person = await requirePerson(setup, right, right.key)
      const form = new URLSearchParams((await readRequest(c, MOST_FORM)).body)
      const decision = form.get('decision')
      const reason = (form.get('reason') ?? '').trim().slice(0, MOST_REASON)
      if (decision !== 'approve' && decision !== 'reject') {
        throw new Problem({ status: 400, code: 'invalid_request', message: 'Choose to approve or to reject the call.' })
      }
      await decideAs(setup, right, person, { decision, ...(reason !== '' && { reason }) })
      return verdictPage(decision === 'approve' ? 'The call is approved' : 'The call is rejected', '', 200)
    }),
  )
  return { routes: { '/approvers': app }, isPublic: true, limitsRate: true }
}

/** Whether a decision came after another one, or after the end of the run. */
function isLate({ details }: Problem): boolean {
  return details.code === 'call_already_answered'
}

/** Answers with a page, also where a Problem is thrown. */
async function showPage(c: Context<EdgeEnv>, page: () => Promise<Response>): Promise<Response> {
  countAddress(c.env.setup, c.req.raw)
  try {
    return await page()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    // Of two clicks on a button, a browser shows the answer to the second.
    const title = isLate(error) ? 'A decision that was made before stands' : 'Nothing was decided'
    return verdictPage(title, error.details.message, error.details.status)
  }
}

async function takeDecision(
  { env: { setup } }: Context<EdgeEnv>,
  groups: ApproverGroups,
  group: string,
  { person, token, decision, tell }: BroughtDecision,
): Promise<void> {
  let verdict: Verdict = { ok: true, decision }
  try {
    const right = await readRight(setup, group, token)
    const people = groups[group]?.people ?? {}
    const key = Object.hasOwn(people, person) ? people[person] : undefined
    await decideAs(setup, right, await requirePerson(setup, right, key ?? ''), { decision })
  } catch (error) {
    const details = error instanceof Problem ? error.details : undefined
    if (!details) setup.report({ event: 'edge.failed', path: `/approvers/${group}`, detail: messageOf(error) })
    const isAfter = error instanceof Problem && isLate(error)
    // A message that says who has decided stays as it is.
    const isOver = !isAfter && [404, 409, 410].includes(details?.status ?? 0)
    const message = details?.message ?? 'Nothing was decided: try again later.'
    verdict = { ok: false, isOver, message: isAfter ? `A decision that was made before stands. ${message}` : message }
  }
  try {
    await tell(verdict)
  } catch (error) {
    setup.report({ event: 'approval.not_told', group, detail: messageOf(error) })
  }
}

async function readRequest({ req: { raw } }: Context<EdgeEnv>, most: number): Promise<SignedRequest> {
  const { bytes, isComplete } = await readBody(raw, most)
  if (!isComplete) throw bodyTooLarge(most)
  const { method, url, headers } = raw
  return { method, url, headers, bytes, body: new TextDecoder().decode(bytes), now: Date.now() }
}

function notFound(): Problem {
  return new Problem({ status: 404, code: 'not_found', message: 'There is no such route.' })
}
