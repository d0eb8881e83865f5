import { TOOL_NAME } from '../../contract/id.ts'
import { isObject } from '../../contract/json.ts'
import type { DefinitionIssue, StoredTools } from '../../contract/setup.ts'
import type { Tool, ToolListing, Unavailable } from '../../contract/tool.ts'
import { changed } from '../changed.ts'
import { checkHosts } from '../hosts.ts'
import { parseStored, type StoredTool } from '../stored.ts'
import { validateArguments } from '../validate.ts'
import type { OfferingSource } from './chain.ts'
import { callFace } from './face.ts'
import { callHttp, type HttpOptions } from './http.ts'
import { type KvRecord, writeRecord } from './kv-record.ts'
import { kvShelf, type ToolNamespace } from './kv-shelf.ts'
import type { PlacedTool } from './place.ts'
import type { ServiceSource } from './service.ts'
import { callStatic } from './static.ts'
import { messageOf } from './thrown.ts'

export interface KvOptions extends HttpOptions {
  readonly namespace: ToolNamespace
  /** The tool Workers, whose tools a stored definition may give another face, and whose names it may not take. */
  readonly services: ServiceSource
}

/**
 * The tools whose definitions lie in a KV namespace, one under each key `tool:<name>`, and the writing of them. What
 * was written elsewhere is seen after at most ten seconds beyond KV's own delay; what is written here, at once. A
 * definition that cannot be used is listed as unavailable. Writers must take turns: KV orders nothing.
 */
export function kvSource(options: KvOptions): OfferingSource & StoredTools {
  const { namespace, services, hosts, now = Date.now } = options
  const shelf = kvShelf(namespace, now)

  const load = async (names: readonly string[]): Promise<ToolListing> => {
    const tools: Tool[] = []
    const unavailable: Unavailable[] = []
    for (const [name, record] of await shelf.read(names)) {
      const tool = record.ok ? toTool(record, options) : record.reason
      if (typeof tool === 'string') unavailable.push({ origin: 'kv', place: placeOf(name), reason: tool })
      else tools.push(tool)
    }
    return { tools, unavailable }
  }

  return {
    find: async (names) => (names.length === 0 ? [] : (await load(names)).tools),
    list: async () => {
      try {
        return await load([...(await shelf.names()).keys()])
      } catch (error) {
        return { tools: [], unavailable: [{ origin: 'kv', place: 'TOOLS', reason: `KV: ${messageOf(error)}` }] }
      }
    },
    offered: async () => {
      const names = await shelf.names().catch(() => new Map<string, boolean>())
      const { tools } = await load([...names].flatMap(([name, offered]) => (offered ? [name] : [])))
      return tools.filter((tool) => tool.offered)
    },
    put: async (name, definition) => {
      const parsed = parseStored(isObject(definition) ? { name, ...definition } : definition)
      if (!parsed.ok) return parsed
      const { stored } = parsed
      const issues = [
        ...nameIssues(name, stored),
        ...checkHosts(stored, hosts),
        ...(await serviceIssues(stored, services)),
      ]
      if (issues.length > 0) return { ok: false, issues }
      const status = (await shelf.has(name)) ? 'replaced' : 'created'
      await shelf.write(name, await writeRecord(stored, now()))
      return { ok: true, status }
    },
    remove: async (name) => {
      if (!TOOL_NAME.test(name) || !(await shelf.has(name))) return false
      await shelf.remove(name)
      return true
    },
  }
}

function placeOf(name: string): string {
  return `tool:${name}`
}

/** The tool of a record, or why it cannot be called here. */
function toTool({ stored, definition }: KvRecord & { ok: true }, options: KvOptions): PlacedTool | string {
  const [issue] = checkHosts(stored, options.hosts)
  if (issue) return issue.message
  if ('binding' in stored && !options.services.bound(stored.binding)) return `there is no binding ${stored.binding}`
  const { name, hash, inputSchema } = definition
  const call = callOf(stored, options)
  return {
    definition,
    place: placeOf(name),
    origin: 'kv',
    offered: stored.default === true,
    call: async (request, control) =>
      request.hash === hash
        ? (validateArguments(name, inputSchema, request.arguments) ?? call(request, control))
        : changed(name),
  }
}

function callOf(stored: StoredTool, options: KvOptions): Tool['call'] {
  if ('http' in stored) return callHttp(stored, options)
  return 'binding' in stored ? callFace(stored, options.services) : callStatic(stored)
}

function nameIssues(name: string, stored: StoredTool): DefinitionIssue[] {
  return stored.name === name ? [] : [{ path: 'name', message: `expected "${name}", received "${stored.name}"` }]
}

async function serviceIssues(stored: StoredTool, services: ServiceSource): Promise<DefinitionIssue[]> {
  const issues: DefinitionIssue[] = []
  const [taken] = await services.find([stored.name])
  if (taken)
    issues.push({ path: 'name', message: `expected a free name: "${stored.name}" is a tool of a bound Worker` })
  if (!('binding' in stored)) return issues
  const { binding, call } = stored
  const worker = services.bound(binding)
  if (!worker) issues.push({ path: 'binding', message: `expected a service binding of this edge, received ${binding}` })
  else issues.push(...callIssues(binding, call, await worker.list()))
  return issues
}

function callIssues(binding: string, call: string, { tools, unavailable }: ToolListing): DefinitionIssue[] {
  if (tools.some((tool) => tool.definition.name === call)) return []
  const [broken] = unavailable
  if (broken) return [{ path: 'binding', message: `${binding} cannot be asked for its tools: ${broken.reason}` }]
  return [{ path: 'call', message: `expected a tool of ${binding}, received "${call}"` }]
}
