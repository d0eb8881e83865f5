import { Hono } from 'hono/tiny'
import type { Tool, ToolDefinition, ToolListing } from '../contract/tool.ts'
import { decodeCallBody } from '../wire/request.ts'
import { demand } from './auth.ts'
import { readJson } from './body.ts'
import { callOnce } from './call-once.ts'
import type { EdgeEnv } from './context.ts'
import { Problem } from './problem.ts'

const MOST_LISTED = 1000

/** `/tools`: listing, storing, removing and calling. */
export const tools = new Hono<EdgeEnv>()

tools.get('/', async (c) => {
  demand(c.var.caller, 'tools:read')
  const { source, query, after = '', limit = '' } = c.req.query()
  const most = Math.min(Number(limit) || MOST_LISTED, MOST_LISTED)
  const listed = entries(await c.var.setup.tools.list())
    .filter((entry) => source === undefined || entry.source === source)
    .filter((entry) => query === undefined || mentions(entry, query))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  c.header('x-total-count', String(listed.length))
  return c.json(listed.filter((entry) => entry.name > after).slice(0, most))
})

tools.get('/:name', async (c) => {
  demand(c.var.caller, 'tools:read')
  return c.json(toEntry(await find(c.var.setup.tools, c.req.param('name'))))
})

tools.put('/:name', async (c) => {
  demand(c.var.caller, 'tools:write')
  const { setup } = c.var
  const name = c.req.param('name')
  const stored = await setup.stored.put(name, await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (stored.ok) return c.json({ name }, stored.status === 'created' ? 201 : 200)
  const message = `The definition was not stored: ${stored.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; ')}`
  throw new Problem({ status: 422, code: 'invalid_definition', message, extra: { issues: stored.issues } })
})

tools.delete('/:name', async (c) => {
  demand(c.var.caller, 'tools:write')
  const name = c.req.param('name')
  if (await c.var.setup.stored.remove(name)) return c.body(null, 204)
  const { definition, origin } = await find(c.var.setup.tools, name)
  const message = `The tool "${definition.name}" is not stored (its source is "${origin}"), so it cannot be removed here.`
  throw new Problem({ status: 422, code: 'tool_not_stored', message })
})

tools.post('/:name/call', async (c) => {
  demand(c.var.caller, 'chat')
  const { setup, caller } = c.var
  const tool = await find(setup.tools, c.req.param('name'))
  const decoded = decodeCallBody(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) {
    const { message, path } = decoded.error
    throw new Problem({ status: 422, code: 'invalid_request', message, param: path })
  }
  const startedAt = Date.now()
  const outcome = await callOnce(tool, { ...decoded.request, setup, caller, request: c.req.raw })
  const durationMs = Date.now() - startedAt
  if (outcome.ok) return c.json({ ...outcome, durationMs })
  const { code, message } = outcome.error
  if (code === 'invalid_arguments') throw new Problem({ status: 422, code, message, param: 'arguments' })
  if (code === 'approval_needs_conversation') throw new Problem({ status: 422, code, message })
  return c.json({ ok: false, content: [{ type: 'text', text: message }], error: { code, message }, durationMs })
})

type Entry = Omit<ToolDefinition, 'inputSchema' | 'version' | 'hash' | 'annotations' | 'description'> &
  Partial<ToolDefinition> & { source: string; place: string; available: boolean; reason?: string }

function entries({ tools, unavailable }: ToolListing): Entry[] {
  return [
    ...tools.map(toEntry),
    ...unavailable.map(({ origin, place, reason }) => ({
      name: place,
      source: origin,
      place,
      available: false,
      reason,
    })),
  ]
}

function toEntry({ definition, origin, place }: Tool): Entry {
  return { ...definition, source: origin, place, available: true }
}

function mentions({ name, description = '' }: Entry, query: string): boolean {
  const text = `${name} ${description}`.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

async function find(source: { find(names: string[]): Promise<readonly Tool[]> }, name: string): Promise<Tool> {
  const [tool] = await source.find([name])
  if (tool) return tool
  throw new Problem({ status: 404, code: 'unknown_tool', message: `There is no tool "${name}" at this edge.` })
}
