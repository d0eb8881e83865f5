import { type CatalogueService, type Owner, type StoredTools, tenantOwner } from '../../contract/catalogue.ts'
import type { Caller, Tool, ToolFinder, ToolListing, ToolSource } from '../../contract/tool.ts'
import { createFinder, joinFinders } from '../../search/finder.ts'
import type { Translate } from '../../search/keyword-index.ts'
import { isAllowed, policiesOf } from '../policy/policies.ts'
import { bindTools, type ToolRules } from '../policy/source.ts'
import { copyOf } from '../stored/version-cache.ts'
import { type KvOptions, kvSource } from './kv.ts'

export interface StoredOptions extends Omit<KvOptions, 'owner' | 'catalogue' | 'rights' | 'hostsOf' | 'worker'> {
  /** Returns the catalogue of an owner's definitions. */
  readonly catalogueOf: (owner: Owner) => CatalogueService
}

export interface StoredParts {
  /** The policies that bind stored tools and, through their aliases, the tools of bound Workers. */
  readonly rules: ToolRules
  /** Returns the tools of a bound Worker. */
  readonly worker: (binding: string) => ToolSource | undefined
  /** All tools of bound Workers, as a caller may know of them. */
  readonly workerTools: (caller: Caller) => Pick<ToolSource, 'list'>
  /** Translates the questions by which a tenant's own tools are searched. Default: nothing is translated. */
  readonly translate?: Translate | undefined
}

/** The stored definitions of all owners. */
export interface OwnedTools {
  /** The tools of the edge's definitions, or of those of the caller's tenant, as the caller may call them. */
  readonly tools: Readonly<Record<Whose, (caller: Caller) => ToolSource>>
  /** Reads and writes these definitions as the caller may. */
  readonly stored: (whose: Whose, caller: Caller) => StoredTools
  /** The tools of the edge's definitions without any policy, for a search index. */
  readonly unpoliced: ToolSource
  /** Finds tools with a finder, and among the definitions of a tenant. */
  readonly finder: (shared: ToolFinder, tenant: string) => ToolFinder
}

type Whose = 'edge' | 'tenant'

/** How many tenants' definitions an isolate caches. */
const MOST_TENANTS = 200

interface Tenant {
  /** The tenant's part of the copy: what an isolate caches goes by this object. */
  readonly namespace: KvOptions['namespace']
  readonly finder: ToolFinder
}

/**
 * Makes the stored tools of an edge. The edge's definitions are there for every tenant, a tenant's for that tenant
 * alone: each owner has a catalogue, a part of the copy in KV, caches and a search index of its own.
 */
export function ownedTools(options: StoredOptions, { rules, worker, workerTools, translate }: StoredParts): OwnedTools {
  const { namespace, catalogueOf } = options
  const policies = rules.policies?.policies ?? {}
  const shared: Omit<KvOptions, 'catalogue'> = {
    ...options,
    worker,
    hostsOf: (tool) => policiesOf(policies, tool).map(({ hosts }) => hosts),
  }
  const tenants = new Map<string, Tenant>()
  const tenantOf = (tenant: string): Tenant => {
    const owner = tenantOwner(tenant)
    const tenantTools = tenants.get(tenant) ?? makeTenant(owner)
    // The map is in the order of last use.
    tenants.delete(tenant)
    tenants.set(tenant, tenantTools)
    const [oldest] = tenants.keys()
    if (tenants.size > MOST_TENANTS && oldest !== undefined) tenants.delete(oldest)
    return tenantTools
  }
  const makeTenant = (owner: Owner): Tenant => {
    const own = copyOf(namespace, owner)
    const source = kvSource({ ...shared, owner, namespace: own, catalogue: catalogueOf(owner) })
    return { namespace: own, finder: createFinder(source, undefined, { translate }) }
  }
  const workers = new Map<string, (caller: Caller) => ToolSource>()
  const workerFor = (binding: string, caller: Caller) => {
    const source = worker(binding)
    const workerSource = workers.get(binding) ?? (source && bindTools(source, rules))
    if (workerSource) workers.set(binding, workerSource)
    return workerSource?.(caller)
  }
  const sourceOf = (whose: Whose, caller: Caller): ToolSource & StoredTools => {
    const owner = whose === 'edge' ? whose : tenantOwner(caller.tenant)
    return kvSource({
      ...shared,
      owner,
      most: whose === 'edge' ? undefined : options.most,
      namespace: whose === 'edge' ? namespace : tenantOf(caller.tenant).namespace,
      catalogue: catalogueOf(owner),
      rights: {
        worker: (binding) => workerFor(binding, caller),
        mayKnow: (target) => isAllowed(policiesOf(policies, target), caller),
        holderOf: async (name) => {
          if (hasName(await workerTools(caller).list(), name)) return 'a tool of a bound Worker'
          const [other] = whose === 'edge' ? [] : await edgeTools(caller).find([name])
          return other && 'a tool of this edge'
        },
      },
    })
  }
  const edgeTools = bindTools((caller) => sourceOf('edge', caller), rules)
  const storedFor = (whose: Whose, caller: Caller): StoredTools => {
    const source = sourceOf(whose, caller)
    return {
      ...source,
      check: async (name, definition) => {
        const reply = await source.check(name, definition)
        return reply.ok && reply.tool ? { ...reply, tool: await bindTool(reply.tool, caller, rules) } : reply
      },
    }
  }
  return {
    tools: { edge: edgeTools, tenant: bindTools((caller) => sourceOf('tenant', caller), rules) },
    stored: storedFor,
    unpoliced: kvSource({ ...shared, catalogue: catalogueOf('edge') }),
    finder: (shared, tenant) => joinFinders(shared, tenantOf(tenant).finder),
  }
}

/** Binds a tool that is not stored by the policies, as if it were. Undefined if the caller may not call it. */
async function bindTool(tool: Tool, caller: Caller, rules: ToolRules): Promise<Tool | undefined> {
  const listing = async () => ({ tools: [tool], unavailable: [] })
  const source = { list: listing, offered: async () => [tool], find: async () => [tool] }
  const [policedTool] = await bindTools(source, rules)(caller).find([tool.definition.name])
  return policedTool
}

/** Whether a tool has this name, even one that is held back or in conflict. */
function hasName({ tools, unavailable }: ToolListing, name: string): boolean {
  return (
    tools.some(({ definition }) => definition.name === name) ||
    unavailable.some((entry) => (entry.pending?.definition.name ?? entry.name) === name)
  )
}
