import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import type { Tool, ToolDefinition, ToolSource, Unavailable } from '../../../contract/tool.ts'
import type { WriteReply, WriteTerms } from '../../../contract/catalogue.ts'
import { decodeCallBody } from '../../../wire/client/request.ts'
import { acceptTool, unknownToolProblem } from './accept-tool.ts'
import { pageOf, pageSize } from '../conversations/addressed.ts'
import { authorOf, requireScope } from '../../middleware/auth.ts'
import { readHash, readJson } from '../../request-body.ts'
import { remainingBudget } from '../../runs/budget.ts'
import { callTool } from '../../runs/call-tool.ts'
import { requestContext, type EdgeEnv } from '../../context.ts'
import { Problem } from '../../problem.ts'
import { rankedTools } from './ranked-tools.ts'
import { entryName, toolPage } from './tool-page.ts'

const DEFAULT_VERSIONS = '100'

/** `/tools`: lists, stores (in versions), accepts, removes and calls tools. */
export const tools = new Hono<EdgeEnv>()

tools.get('/', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  const { source, query, after = '', limit } = c.req.query()
  const page = { after, limit: pageSize(limit), origin: source }
  const { entries, total } = query?.trim()
    ? await rankedTools(toolsOf(c), c.env.setup.finder, { query, ...page })
    : await toolPage(toolsOf(c), page)
  const body = entries.map((each) => ('definition' in each ? availableEntry(each) : unavailableEntry(each)))
  return c.json(body, 200, { 'x-total-count': String(total) })
})

tools.get('/:name', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  const [name, source] = [c.req.param('name'), toolsOf(c)]
  const [tool] = await source.find([name])
  if (!tool) {
    const unavailable = (await source.list()).unavailable.find((each) => entryName(each) === name)
    if (unavailable) return c.json(unavailableEntry(unavailable))
    throw unknownToolProblem(name)
  }
  const { hash } = tool.definition
  // A tool Worker chooses its hash freely: not every text may stand in an ETag.
  if (/^[!#-~]+$/.test(hash)) c.header('etag', `"${hash}"`)
  return c.json(availableEntry(tool))
})

tools.put('/:name', async (c) => {
  requireScope(c.env.caller, 'tools:write')
  const { setup } = c.env
  const definition = await readJson(c.req.raw, setup.config.maxBodyBytes)
  const name = c.req.param('name')
  return answerWrite(c, name, await setup.stored.put(name, definition, writeTermsOf(c)))
})

tools.get('/:name/versions', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  const page = pageOf({ limit: DEFAULT_VERSIONS, ...c.req.query() })
  const name = c.req.param('name')
  await checkKnown(c, name)
  const entries = await c.env.setup.stored.history(name, page)
  if (entries.length === 0 && page.before === undefined) throw unknownToolProblem(name)
  return c.json(entries)
})

tools.get('/:name/versions/:hash', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  const { name, hash } = c.req.param()
  await checkKnown(c, name)
  const definition = await c.env.setup.stored.version(name, hash)
  if (definition === undefined) throw unknownVersion(name, hash)
  return Response.json(definition, { headers: { etag: `"${hash}"` } })
})

tools.post('/:name/rollback', async (c) => {
  requireScope(c.env.caller, 'tools:write')
  const { setup } = c.env
  const hash = await readHash(c.req.raw, setup.config.maxBodyBytes, 'a version')
  const name = c.req.param('name')
  const reply = await setup.stored.rollback(name, hash, writeTermsOf(c))
  if (!reply) throw unknownVersion(name, hash)
  return answerWrite(c, name, reply)
})

tools.post('/:name/accept', (c) => acceptTool(c, c.req.param('name')))

tools.delete('/:name', async (c) => {
  requireScope(c.env.caller, 'tools:write')
  const name = c.req.param('name')
  const { stored } = c.env.setup
  if (await stored.remove(name, writeTermsOf(c).by)) return c.body(null, 204)
  const { origin } = await findTool(toolsOf(c), name)
  // Another request has just removed the tool, which `find` does not see yet.
  if (origin === 'kv') throw unknownToolProblem(name)
  const message = `The tool "${name}" is not stored (its source is "${origin}"), so it cannot be removed here.`
  throw new Problem({ status: 422, code: 'tool_not_stored', message })
})

tools.post('/:name/call', async (c) => {
  requireScope(c.env.caller, 'chat')
  const { setup, caller } = c.env
  const tool = await findTool(toolsOf(c), c.req.param('name'))
  const decoded = decodeCallBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) {
    const { message, path } = decoded.error
    throw new Problem({ status: 422, code: 'invalid_request', message, param: path })
  }
  await remainingBudget({ setup, caller })
  const startedAt = Date.now()
  const outcome = await callTool(tool, { ...decoded.request, ...requestContext(c) })
  const durationMs = Date.now() - startedAt
  if (outcome.ok) return c.json({ ...outcome, durationMs })
  const { code, message } = outcome.error
  if (code === 'invalid_arguments') throw new Problem({ status: 422, code, message, param: 'arguments' })
  if (code === 'approval_needs_conversation') throw new Problem({ status: 422, code, message })
  return c.json({ ok: false, content: [{ type: 'text', text: message }], error: { code, message }, durationMs })
})

type Entry = Omit<ToolDefinition, 'inputSchema' | 'version' | 'hash' | 'annotations' | 'description'> &
  Partial<ToolDefinition> & {
    source: string
    place: string
    available: boolean
    reason?: string
    accepted?: string | null
  }

function availableEntry({ definition, origin, place }: Tool): Entry {
  return { ...definition, source: origin, place, available: true }
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
    reason,
  }
}

/** Returns the tools that the caller may know of. */
function toolsOf(c: Context<EdgeEnv>): ToolSource {
  return c.env.setup.tools(c.env.caller)
}

/** Throws a Problem 404 unless the caller may write tools or know of this one: only writers read of removed tools. */
async function checkKnown(c: Context<EdgeEnv>, name: string): Promise<void> {
  if (!c.env.caller.scopes.includes('tools:write')) await findTool(toolsOf(c), name)
}

async function findTool(source: ToolSource, name: string): Promise<Tool> {
  const [tool] = await source.find([name])
  if (tool) return tool
  throw unknownToolProblem(name)
}

function unknownVersion(name: string, hash: string): Problem {
  const message = `The tool "${name}" has no version "${hash}".`
  return new Problem({ status: 404, code: 'unknown_version', message })
}

/** Returns the author of a write, and its precondition by `If-Match` and `If-None-Match: *` (RFC 9110). */
function writeTermsOf(c: Context<EdgeEnv>): WriteTerms {
  const match = c.req.header('if-match')
  const isNew = c.req.header('if-none-match')?.trim() === '*'
  const expects = isNew ? [] : match?.split(',').map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, '$1'))
  return { by: authorOf(c.env.caller), expects }
}

/**
 * Answers a write: 201 if it created the tool, 200 if it replaced a version. Throws a Problem if it was refused: 412 if
 * another version is current, 422 with the paths of what is invalid.
 */
function answerWrite(c: Context<EdgeEnv>, name: string, reply: WriteReply): Response {
  if (reply.ok) {
    const { status, hash, change, breaks } = reply
    c.header('etag', `"${hash}"`)
    return c.json({ name, hash, change, breaks }, status === 'created' ? 201 : 200)
  }
  const { issues } = reply
  const problems = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  const message = `The definition was not stored: ${problems}`
  if ('code' in reply) {
    const { code, current } = reply
    throw new Problem({ status: 412, code, message, extra: { current: current ?? null } })
  }
  throw new Problem({ status: 422, code: 'invalid_definition', message, extra: { issues } })
}
