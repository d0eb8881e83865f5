import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import {
  type HistoryEntry,
  isTenantPlace,
  type StoredTools,
  type WriteReply,
  type WriteTerms,
} from '../../../contract/catalogue.ts'
import { digestOf } from '../../../host/source/approved-definitions.ts'
import { untightened } from '../../../host/policy/policies.ts'
import type { EdgeEnv } from '../../context.ts'
import { authorOf, requireScope } from '../../middleware/auth.ts'
import { Problem, quotaProblem } from '../../problem.ts'
import { readHash, readJson } from '../../request-body.ts'
import { pageOf } from '../conversations/conversations.ts'
import {
  defaultOwner,
  definitionsToWrite,
  invalidDefinition,
  refusalText,
  requestedOwner,
  type Whose,
  withEdgeName,
  callerTools,
  findTool,
  toolNameOfPath,
  unknownToolProblem,
} from './find-tool.ts'
import { readQuery } from '../runs.ts'

const DEFAULT_VERSIONS = '100'

/**
 * The routes of `/tools` that store, roll back and remove definitions, list their versions, and accept those of bound
 * tools.
 */
export const storedDefinitions = new Hono<EdgeEnv>()

storedDefinitions.post('/:name/accept', (c) => acceptTool(c, toolNameOfPath(c)))

storedDefinitions.put('/:name', async (c) => {
  const stored = definitionsToWrite(c)
  const definition = withEdgeName(await readJson(c.req.raw, c.env.setup.config.maxBodyBytes))
  const name = toolNameOfPath(c)
  return answerWrite(c, name, await stored.put(name, definition, makeWriteTerms(c)))
})

storedDefinitions.post('/:name/check', async (c) => {
  const stored = definitionsToWrite(c)
  const definition = withEdgeName(await readJson(c.req.raw, c.env.setup.config.maxBodyBytes))
  const reply = await stored.check(toolNameOfPath(c), definition)
  if (!reply.ok) return c.json({ valid: false, issues: reply.issues })
  const { tool: _, ok, ...rest } = reply
  return c.json({ valid: ok, ...rest })
})

storedDefinitions.get('/:name/versions', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  const page = pageOf({ limit: DEFAULT_VERSIONS, ...readQuery(c, 'before', 'limit', 'owner') })
  const name = toolNameOfPath(c)
  const { stored, isVisible } = await definitionsToRead(c, name)
  const entries = (await stored.history(name, page)).filter(isVisible).map((entry) => withoutStrangers(c, entry))
  if (entries.length === 0 && page.before === undefined) throw unknownToolProblem(name)
  return c.json(entries)
})

storedDefinitions.get('/:name/versions/:hash', async (c) => {
  requireScope(c.env.caller, 'tools:read')
  readQuery(c, 'owner')
  const [name, hash] = [toolNameOfPath(c), c.req.param('hash')]
  const { stored } = await definitionsToRead(c, name)
  const definition = await stored.version(name, hash)
  if (definition === undefined) throw unknownVersion(name, hash)
  return Response.json(definition, { headers: { etag: `"${hash}"` } })
})

storedDefinitions.post('/:name/rollback', async (c) => {
  const stored = definitionsToWrite(c)
  const hash = await readHash(c.req.raw, c.env.setup.config.maxBodyBytes, 'a version')
  const name = toolNameOfPath(c)
  const reply = await stored.rollback(name, hash, makeWriteTerms(c))
  if (!reply) throw unknownVersion(name, hash)
  return answerWrite(c, name, reply)
})

storedDefinitions.delete('/:name', async (c) => {
  const name = toolNameOfPath(c)
  if (await definitionsToWrite(c).remove(name, makeWriteTerms(c).by)) return c.body(null, 204)
  const { origin, place } = await findTool(callerTools(c), name)
  if (origin === 'kv') throw notRemoved(c, name, isTenantPlace(place) ? 'tenant' : 'edge')
  const message = `The tool "${name}" is not stored (its source is "${origin}"), so it cannot be removed here.`
  throw new Problem({ status: 422, code: 'tool_not_stored', message })
})

/**
 * Returns the definitions that have the versions of a name. Default: those of the tool that the caller knows by this
 * name. Throws a Problem 404 if the caller neither knows that tool nor may write the owner's definitions: only writers
 * read of removed tools.
 */
async function definitionsToRead(
  c: Context<EdgeEnv>,
  name: string,
): Promise<{ readonly stored: StoredTools; readonly isVisible: (entry: HistoryEntry) => boolean }> {
  const { caller, setup } = c.env
  const [tool] = await callerTools(c).find([name])
  const currentOwner = tool && (isTenantPlace(tool.place) ? 'tenant' : 'edge')
  const owner = requestedOwner(c) ?? currentOwner ?? defaultOwner(caller)
  const isWriter = caller.scopes.includes(owner === 'edge' ? 'tools:admin' : 'tools:write')
  if (!isWriter && currentOwner !== owner) throw unknownToolProblem(name)
  return {
    stored: setup.stored(owner, caller),
    // A definition of this name may have been accepted at a place that the caller may not know of.
    isVisible: ({ place }) => isWriter || place === undefined || place === tool?.place,
  }
}

/** Leaves out the author of an entry if that is another tenant, unless the caller administers the edge's tools. */
function withoutStrangers(c: Context<EdgeEnv>, { by, ...entry }: HistoryEntry): HistoryEntry {
  const { tenant, scopes } = c.env.caller
  return by && (by.tenant === tenant || scopes.includes('tools:admin')) ? { ...entry, by } : entry
}

/** Returns the Problem of a stored tool that the caller knows, and that was not removed. */
function notRemoved(c: Context<EdgeEnv>, name: string, owner: Whose): Problem {
  // Another request has just removed the tool, which `find` does not see yet.
  if ((requestedOwner(c) ?? defaultOwner(c.env.caller)) === owner) return unknownToolProblem(name)
  if (owner === 'tenant') {
    const message = `The tool "${name}" is your tenant's own: remove it with ?owner=tenant.`
    return new Problem({ status: 422, code: 'other_owner', message, param: 'owner' })
  }
  const message = `The tool "${name}" is the edge's own: removing it needs a key with the scope "tools:admin".`
  return new Problem({ status: 403, code: 'missing_scope', message })
}

function unknownVersion(name: string, hash: string): Problem {
  const message = `The tool "${name}" has no version "${hash}".`
  return new Problem({ status: 404, code: 'unknown_version', message })
}

/** Returns the author of a write, and its precondition by `If-Match` and `If-None-Match: *` (RFC 9110). */
function makeWriteTerms(c: Context<EdgeEnv>): WriteTerms {
  const match = c.req.header('if-match')
  const isNew = c.req.header('if-none-match')?.trim() === '*'
  const expects = isNew ? [] : match?.split(',').map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, '$1'))
  return { by: authorOf(c.env.caller), expects }
}

/**
 * Answers a write: 201 if it created the tool, 200 if it replaced a version. Throws a Problem if it was refused: 412 if
 * another version is current, 507 if there is no room, 422 with the paths of what is invalid.
 */
function answerWrite(c: Context<EdgeEnv>, name: string, reply: WriteReply): Response {
  if (reply.ok) {
    const { status, hash, change, breaks, warnings } = reply
    c.header('etag', `"${hash}"`)
    return c.json({ name, hash, change, breaks, warnings }, status === 'created' ? 201 : 200)
  }
  if ('quota' in reply) throw quotaProblem(reply)
  const { issues } = reply
  if (!('code' in reply)) throw invalidDefinition(issues)
  const { code, current } = reply
  throw new Problem({ status: 412, code, message: refusalText(issues), extra: { current: current ?? null } })
}

/** `POST /tools/{name}/accept`: accepts the current definition of a tool, if its hash is the one in the body. */
async function acceptTool(c: Context<EdgeEnv>, name: string): Promise<Response> {
  const { caller, setup } = c.env
  requireScope(caller, 'tools:admin')
  const hash = await readHash(c.req.raw, setup.config.maxBodyBytes, 'a definition')
  const { tools, unavailable } = await setup.tools(caller).list()
  const all = [...tools, ...unavailable.flatMap(({ place, pending }) => (pending ? { place, ...pending } : []))]
  const candidates = await Promise.all(
    all
      .filter(({ definition }) => definition.name === name)
      .map(async ({ definition: listedDefinition, place }) => {
        const definition = untightened(listedDefinition)
        return { name, place, hash: await digestOf(definition), definition }
      }),
  )
  const match = candidates.find((tool) => tool.hash === hash)
  if (match) {
    await setup.acceptances?.accept(match, authorOf(caller))
    return c.json({ name, hash })
  }
  const [candidate] = candidates
  if (!candidate) throw unknownToolProblem(name)
  const message = `The tool "${name}" has another definition now.`
  throw new Problem({ status: 409, code: 'tool_changed', message, extra: { current: candidate.hash } })
}
