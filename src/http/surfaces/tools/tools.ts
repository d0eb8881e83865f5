import { Hono } from 'hono/tiny'
import { newId } from '../../../contract/id.ts'
import { hashArguments } from '../../../contract/message.ts'
import type { Setup } from '../../../contract/setup.ts'
import type { ToolDefinition } from '../../../contract/tool-definition.ts'
import type { Caller, Tool, ToolFinder, Unavailable } from '../../../contract/tool.ts'
import { decodeCallBody } from '../../../wire/client/request.ts'
import { timeOf } from '../../../host/breaker.ts'
import {
  callerTools,
  entryName,
  findTool,
  rankedTools,
  toolNameOfPath,
  toolPage,
  unknownToolProblem,
  visiblePolicies,
  unstoredTool,
} from './find-tool.ts'
import { pageSize } from '../conversations/conversations.ts'
import { requireScope } from '../../middleware/auth.ts'
import { readJson } from '../../request-body.ts'
import { shareOfBudget } from '../../runs/budget.ts'
import { callOutsideRun } from '../../runs/call-outside-run.ts'
import { requestContext, type EdgeEnv } from '../../context.ts'
import { Problem } from '../../problem.ts'
import { readQuery } from '../runs.ts'

/** `/tools`: lists and calls tools. An edge with stored tools has further routes (`storedDefinitions`). */
export const toolRoutes = new Hono<EdgeEnv>()

toolRoutes.get('/', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  const { source, query, after = '', limit } = readQuery(c, 'source', 'query', 'after', 'limit')
  const page = { after, limit: pageSize(limit), origin: source }
  const { entries, total } = query?.trim()
    ? await rankedTools(callerTools(c), finderOf(c.env.setup, c.env.caller), { query, ...page })
    : await toolPage(callerTools(c), page)
  const body = entries.map((each) => ('definition' in each ? availableEntry(each) : unavailableEntry(each)))
  return c.json(body, 200, { 'x-total-count': String(total) })
})

toolRoutes.get('/:name', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  readQuery(c)
  const [name, source] = [toolNameOfPath(c), callerTools(c)]
  const [tool] = await source.find([name])
  if (!tool) {
    const unavailable = (await source.list()).unavailable.find((each) => entryName(each) === name)
    if (unavailable) {
      const { pending, place } = unavailable
      const policies = await visiblePolicies(c, { definition: pending?.definition ?? { name }, place })
      return c.json({ ...unavailableEntry(unavailable), policies })
    }
    throw unknownToolProblem(name)
  }
  const { hash } = tool.definition
  // A tool Worker chooses its hash freely: not every text may stand in an ETag.
  if (/^[!#-~]+$/.test(hash)) c.header('etag', `"${hash}"`)
  return c.json({ ...availableEntry(tool), policies: await visiblePolicies(c, tool) })
})

toolRoutes.post('/:name/call', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const name = toolNameOfPath(c)
  const decoded = decodeCallBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) {
    const { message, path } = decoded.error
    throw new Problem({ status: 422, code: 'invalid_request', message, param: path })
  }
  const { definition, decision, argumentsHash, ...call } = decoded.request
  const isApproved = decision === 'approve'
  if (isApproved) await checkDecision(c.env, { arguments: call.arguments, argumentsHash })
  const tool = definition ? await unstoredTool(c, name, definition) : await findTool(callerTools(c), name)
  await shareOfBudget({ setup, caller })
  const startedAt = Date.now()
  const callId = newId('run')
  if (isApproved) {
    const { tenant, key } = caller
    setup.report({ event: 'call.approved', tool: tool.definition.name, callId, argumentsHash, tenant, key })
  }
  const outcome = await callOutsideRun(tool, { ...call, ...requestContext(c), callId, isApproved })
  const durationMs = Date.now() - startedAt
  if (outcome.ok) return c.json({ ...outcome, durationMs })
  const { code, message, retryAfterMs } = outcome.error
  if (code === 'invalid_arguments') throw new Problem({ status: 422, code, message, param: 'arguments' })
  if (code === 'approval_needs_conversation')
    throw new Problem({ status: 422, code, message: `${message} ${OR_DECIDE}` })
  return c.json({
    ok: false,
    content: [{ type: 'text', text: message }],
    error: { code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) },
    durationMs,
  })
})

const OR_DECIDE =
  'Or send "decision": "approve" and the "argumentsHash" of the arguments that the person has seen, with a key of the scope approve.'

/**
 * Throws a Problem unless the caller may approve a call that it makes itself, and has decided about these arguments. With
 * `FOUR_EYES` nobody may.
 */
async function checkDecision(
  { caller, setup }: EdgeEnv['Bindings'],
  call: { readonly arguments: object; readonly argumentsHash: string | undefined },
): Promise<void> {
  requireScope(caller, 'approve')
  if (setup.config.fourEyes) {
    const message = 'The key that makes this call may not decide about it.'
    throw new Problem({ status: 403, code: 'own_run', message, param: 'decision' })
  }
  if (call.argumentsHash === (await hashArguments(JSON.stringify(call.arguments)))) return
  const message = 'The arguments of this call do not match `argumentsHash`.'
  throw new Problem({ status: 409, code: 'arguments_changed', message, param: 'argumentsHash' })
}

type Entry = Omit<ToolDefinition, 'inputSchema' | 'version' | 'hash' | 'annotations' | 'description'> &
  Partial<ToolDefinition> & {
    source: string
    place: string
    available: boolean
    offered: boolean
    reason?: string
    accepted?: string | null
  }

function availableEntry({ definition, origin, place, pausedUntil, offered }: Tool): Entry {
  const entry = { ...definition, source: origin, place, offered }
  if (pausedUntil === undefined) return { ...entry, available: true }
  const reason = `Its last calls all failed: it is not called again before ${timeOf(pausedUntil)}.`
  return { ...entry, available: false, reason }
}

function unavailableEntry(unavailable: Unavailable): Entry {
  const { origin, place, reason, pending } = unavailable
  return {
    ...pending?.definition,
    name: entryName(unavailable),
    ...(pending && { hash: pending.hash, accepted: pending.acceptedHash }),
    source: origin,
    place,
    available: false,
    offered: false,
    reason,
  }
}

/** Returns the search over the tools of a caller. Throws a Problem if the edge was made without one. */
function finderOf({ finder }: Setup, caller: Caller): ToolFinder {
  if (finder) return finder(caller)
  const message = 'This edge has no tool search. Leave out `query` to list all tools.'
  throw new Problem({ status: 400, code: 'search_not_available', message, param: 'query' })
}
