import type { DefinitionIssue, DefinitionService, UsableDefinition, ToolHosts } from '../../contract/definition.ts'
import { TOOL_NAME } from '../../contract/id.ts'
import { parseJson } from '../../contract/json.ts'
import type { Report } from '../../contract/setup.ts'
import type { ListPage, Tool, ToolListing, ToolSource, Unavailable } from '../../contract/tool.ts'
import { changed } from '../../tool/pinned-tools.ts'
import type { CatalogueService, StoredTools, VersionWrite, WriteReply, WriteTerms } from '../../contract/catalogue.ts'
import { messageOf } from '../../contract/thrown.ts'
import { unreachable } from '../worker/call.ts'
import type { ServiceSource } from './service.ts'
import { openVersionCache, type StoredRecord, type ToolNamespace } from '../stored/version-cache.ts'

export interface KvOptions {
  /** The catalogue's read copy. */
  readonly namespace: ToolNamespace
  /** Takes all writes. */
  readonly catalogue: CatalogueService
  /** Checks and performs the definitions. */
  readonly definitions: DefinitionService
  readonly hosts: ToolHosts
  /**
   * Returns the hosts that each of a tool's policies names, undefined for a policy that names none; the tool may reach
   * the hosts that are in all of these lists. Default: all of `hosts`.
   */
  readonly hostsOf?: (tool: Pick<Tool, 'definition' | 'place'>) => readonly (readonly string[] | undefined)[]
  /** Returns the value of a secret, such as `SECRET_WEATHER`. */
  readonly secret: (name: string) => string | undefined
  /** The tool Workers. A stored definition may be an alias of one of their tools, but may not take its name. */
  readonly services: ServiceSource
  /** Receives why stored definitions cannot be read. Default: nobody does. */
  readonly report?: Report
  readonly now?: () => number
}

const UNREADABLE = 'the stored definitions cannot be read now'

/** The terms of a write whose author is not known. */
const UNNAMED: WriteTerms = { by: { tenant: 'unknown' } }

/**
 * Makes a source of the tools whose definitions the catalogue holds, read from its copy in KV, and writes them. A write
 * of another isolate is seen at most ten seconds after KV's own delay, a write of this isolate at once. A run that
 * finds its tools again reads at most the index, whatever the number of definitions. A definition that cannot be used
 * is listed as unavailable.
 */
export function kvSource(options: KvOptions): ToolSource & StoredTools {
  const { namespace, catalogue, definitions, hosts, now = Date.now } = options
  const fail = (error: unknown): string => {
    options.report?.({ event: 'tools.unavailable', place: 'TOOLS', detail: messageOf(error) })
    return UNREADABLE
  }
  const readValues = (kept: Parameters<DefinitionService['read']>[0]) => definitions.read(kept, hosts)
  const cache = openVersionCache(namespace, { readValues, fail, now })

  const load = async (names: readonly string[]): Promise<ToolListing> => {
    const tools: Tool[] = []
    const unavailable: Unavailable[] = []
    for (const [name, record] of await cache.read(names)) {
      const place = `tool:${name}`
      const tool = toTool(place, record, options)
      if (typeof tool === 'string') unavailable.push({ origin: 'kv', place, reason: tool, name })
      else tools.push(tool)
    }
    return { tools, unavailable }
  }
  const list = async (page: ListPage | undefined): Promise<ToolListing> => {
    const names = await cache.names()
    if (!page) return load(names)
    const { after, limit, origin = 'kv' } = page
    if (origin !== 'kv') return { tools: [], unavailable: [], total: 0 }
    const rest = names.filter((name) => name > after).sort()
    return { ...(await load(rest.slice(0, limit))), total: names.length }
  }
  const broken = (error: unknown): ToolListing => ({
    tools: [],
    unavailable: [{ origin: 'kv', place: 'TOOLS', reason: fail(error) }],
  })
  const write = async (
    name: string,
    definition: unknown,
    terms: WriteTerms & Pick<VersionWrite, 'action'>,
  ): Promise<WriteReply> => {
    const written = await definitions.write(name, definition, hosts)
    if (!written.ok) return written
    const issues = await serviceIssues(written.read, options.services)
    if (issues.length > 0) return { ok: false, issues }
    const { text, metadata } = written.kept
    const { hash, default: offered } = metadata
    const { version } = written.read.definition
    const reply = await catalogue.write({ ...terms, name, hash, text, offered, version })
    if (!reply.ok) return reply
    const { revision, ...rest } = reply
    cache.own(name, { revision, record: written.read })
    return { ...rest, hash }
  }
  const versionOf = async (name: string, hash: string): Promise<unknown> =>
    parseJson((TOOL_NAME.test(name) && (await catalogue.version(name, hash))) || '')

  return {
    find: async (names) => (names.length === 0 ? [] : (await load(names).catch(broken)).tools),
    list: (page) => list(page).catch(broken),
    size: () => cache.size().catch(() => 0),
    texts: () => cache.texts().catch(() => []),
    offered: async () => {
      const { tools } = await cache.offered().then(load).catch(broken)
      return tools.filter((tool) => tool.offered)
    },
    put: (name, definition, terms = UNNAMED) => write(name, definition, { ...terms, action: 'put' }),
    rollback: async (name, hash, terms) => {
      const definition = await versionOf(name, hash)
      return definition === undefined ? undefined : write(name, definition, { ...terms, action: 'rollback' })
    },
    remove: async (name, by = UNNAMED.by) => {
      const revision = TOOL_NAME.test(name) ? await catalogue.remove(name, by) : undefined
      if (revision !== undefined) cache.own(name, { revision })
      return revision !== undefined
    },
    history: async (name, page) => (TOOL_NAME.test(name) ? catalogue.history(name, page) : []),
    version: versionOf,
  }
}

/** Returns the tool of a record, or the reason why it cannot be called here. */
function toTool(place: string, record: StoredRecord, options: KvOptions): Tool | string {
  if (typeof record === 'string') return record
  const { definition, offered, alias } = record
  if (alias && !options.services.bound(alias.binding)) return `there is no binding ${alias.binding}`
  return { definition, origin: 'kv', place, offered, call: callOf(place, record, options) }
}

function callOf(place: string, record: UsableDefinition, options: KvOptions): Tool['call'] {
  const { definitions, services, secret, hostsOf } = options
  const { definition, alias, secrets: names, stored } = record
  const named = hostsOf?.({ definition, place }) ?? []
  const hosts = Object.fromEntries(
    Object.entries(options.hosts).filter(([host]) => named.every((some) => some?.includes(host) ?? true)),
  )
  const { name, hash } = definition
  return async (request, control) => {
    if (request.hash !== hash) return changed(name)
    const secrets = Object.fromEntries(names.map((each) => [each, secret(each) ?? '']))
    const outcome = await definitions.call(stored, request, { hosts, secrets }, control)
    if (outcome) return outcome
    const [tool] = (alias && (await services.bound(alias.binding)?.find([alias.call]))) ?? []
    // The bound tool gets the same arguments, under the name and hash that its Worker knows.
    if (!tool) return unreachable(name, `${alias?.binding} has no tool "${alias?.call}" now`)
    const answered = await tool.call({ ...request, name: tool.definition.name, hash: tool.definition.hash }, control)
    return definition.outputSchema ? definitions.held(stored, answered) : answered
  }
}

async function serviceIssues(
  { definition, alias }: UsableDefinition,
  services: ServiceSource,
): Promise<DefinitionIssue[]> {
  const { name } = definition
  const { tools, unavailable } = await services.list()
  // The name of a tool that is held back, or that two Workers define, is taken too.
  const taken = [
    ...tools.map(({ definition }) => definition.name),
    ...unavailable.map((gone) => gone.pending?.definition.name ?? gone.name),
  ]
  const issues = taken.includes(name)
    ? [{ path: 'name', message: `expected a free name: "${name}" is a tool of a bound Worker` }]
    : []
  if (!alias) return issues
  const { binding, call } = alias
  const worker = await services.bound(binding)?.list()
  if (worker?.tools.some((tool) => tool.definition.name === call)) return issues
  const broken = worker?.unavailable.find(({ pending }) => !pending || pending.definition.name === call)
  if (!worker) issues.push({ path: 'binding', message: `expected a service binding of this edge, received ${binding}` })
  else if (broken)
    issues.push({ path: 'binding', message: `${binding} cannot be asked for its tools: ${broken.reason}` })
  else issues.push({ path: 'call', message: `expected a tool of ${binding}, received "${call}"` })
  return issues
}
