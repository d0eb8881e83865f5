import type { DefinitionIssue, DefinitionService, ReadDefinition, ToolHosts } from '../../contract/definition.ts'
import { TOOL_NAME } from '../../contract/id.ts'
import type { StoredTools } from '../../contract/setup.ts'
import type { Tool, ToolListing, ToolSource, Unavailable } from '../../contract/tool.ts'
import { changed } from '../pin.ts'
import { messageOf } from '../thrown.ts'
import { unreachable } from '../worker/call.ts'
import type { ServiceSource } from './service.ts'
import { openShelf, type StoredRecord, type ToolNamespace } from './shelf.ts'

export interface KvOptions {
  readonly namespace: ToolNamespace
  /** Checks and performs the definitions. */
  readonly definitions: DefinitionService
  readonly hosts: ToolHosts
  /** The value of a secret, such as `SECRET_WEATHER`. */
  readonly secret: (name: string) => string | undefined
  /** The tool Workers, whose tools a stored definition may give another face, and whose names it may not take. */
  readonly services: ServiceSource
  readonly now?: () => number
}

/**
 * The tools whose definitions lie in a KV namespace, one under each key `tool:<name>`, and the writing of them. What
 * was written elsewhere is seen after at most ten seconds beyond KV's own delay; what is written here, at once. A
 * definition that cannot be used is listed as unavailable. Writers must take turns: KV orders nothing.
 */
export function kvSource(options: KvOptions): ToolSource & StoredTools {
  const { namespace, definitions, hosts, now = Date.now } = options
  const shelf = openShelf(namespace, (kept) => definitions.read(kept, hosts), now)

  const load = async (names: readonly string[]): Promise<ToolListing> => {
    const tools: Tool[] = []
    const unavailable: Unavailable[] = []
    for (const [name, record] of await shelf.read(names)) {
      const place = `tool:${name}`
      const tool = record === undefined ? undefined : toTool(place, record, options)
      if (typeof tool === 'string') unavailable.push({ origin: 'kv', place, reason: tool })
      else if (tool) tools.push(tool)
    }
    return { tools, unavailable }
  }

  return {
    find: async (names) => (await load(names)).tools,
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
      const written = await definitions.write(name, definition, hosts)
      if (!written.ok) return written
      const issues = await serviceIssues(written.read, options.services)
      if (issues.length > 0) return { ok: false, issues }
      const status = (await shelf.has(name)) ? 'replaced' : 'created'
      await shelf.write(name, written.kept, written.read)
      return { ok: true, status }
    },
    remove: async (name) => {
      const isStored = TOOL_NAME.test(name) && (await shelf.has(name))
      if (isStored) await shelf.remove(name)
      return isStored
    },
  }
}

/** The tool of a record, or why it cannot be called here. */
function toTool(place: string, record: StoredRecord, options: KvOptions): Tool | string {
  if (typeof record === 'string') return record
  const { definition, offered, face } = record
  if (face && !options.services.bound(face.binding)) return `there is no binding ${face.binding}`
  return { definition, origin: 'kv', place, offered, call: callOf(record, options) }
}

function callOf(record: ReadDefinition, { definitions, services, hosts, secret }: KvOptions): Tool['call'] {
  const { definition, face, secrets: names, stored } = record
  const { name, hash } = definition
  return async (request, control) => {
    if (request.hash !== hash) return changed(name)
    const secrets = Object.fromEntries(names.map((each) => [each, secret(each) ?? '']))
    const outcome = await definitions.call(stored, request, { hosts, secrets }, control)
    if (outcome) return outcome
    const [tool] = (face && (await services.bound(face.binding)?.find([face.call]))) ?? []
    // The same arguments, under the name and hash that the Worker knows.
    if (tool) return tool.call({ ...request, name: tool.definition.name, hash: tool.definition.hash }, control)
    return unreachable(name, `${face?.binding} has no tool "${face?.call}" now`)
  }
}

async function serviceIssues(
  { definition, face }: ReadDefinition,
  services: ServiceSource,
): Promise<DefinitionIssue[]> {
  const { name } = definition
  const taken = await services.find([name])
  const issues = taken.map(() => ({
    path: 'name',
    message: `expected a free name: "${name}" is a tool of a bound Worker`,
  }))
  if (!face) return issues
  const { binding, call } = face
  const worker = await services.bound(binding)?.list()
  if (worker?.tools.some((tool) => tool.definition.name === call)) return issues
  const [broken] = worker?.unavailable ?? []
  if (!worker) issues.push({ path: 'binding', message: `expected a service binding of this edge, received ${binding}` })
  else if (broken)
    issues.push({ path: 'binding', message: `${binding} cannot be asked for its tools: ${broken.reason}` })
  else issues.push({ path: 'call', message: `expected a tool of ${binding}, received "${call}"` })
  return issues
}
