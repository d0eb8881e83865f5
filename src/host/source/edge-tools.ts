import type { StoredTools } from '../../contract/catalogue.ts'
import type { Report } from '../../contract/setup.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import {
  type Caller,
  isFor,
  READ_RESULT,
  type Tool,
  type ToolFinder,
  type ToolListing,
  type ToolSource,
} from '../../contract/tool.ts'
import type { Translate } from '../../search/keyword-index.ts'
import { reportUnmatched } from '../policy/policies.ts'
import { bindTools, type ToolRules } from '../policy/source.ts'
import { inOrder } from './chain.ts'
import type { ServiceSource } from './service.ts'
import type { OwnedTools, StoredParts } from './stored-tools.ts'

interface EdgeToolsOptions {
  /** The operator's own tool Workers. */
  readonly services: ServiceSource
  /** Tool Workers that bring in the tools of others, such as other MCP servers. Default: none. */
  readonly foreign?: ServiceSource
  /** Further sources of the operator's own tools, such as `agentSource(…)`. Default: none. */
  readonly others?: readonly ToolSource[]
  readonly rules: ToolRules
  /** Whether a tool is left out of the default set, whatever its source says. Default: none is. */
  readonly isExcluded?: ((definition: ToolDefinition) => boolean) | undefined
  /** The patterns by which variables name tools; those that match none are reported. Default: none. */
  readonly patterns?: Omit<Parameters<typeof reportUnmatched>[0], 'sources' | 'report'> | undefined
  /** Makes the stored tools. Default: none can be stored. */
  readonly stored?: ((parts: StoredParts) => OwnedTools) | undefined
  /** Whether a tool of `others` is offered by default, if its source offers it. Default: it is. */
  readonly offersByDefault?: ((definition: ToolDefinition) => boolean) | undefined
  /** Makes the search over the tools that all tenants have. Default: tools cannot be searched. */
  readonly search?: ((source: ToolSource) => ToolFinder) | undefined
  /** Translates the questions by which a tenant's own tools are searched. Default: nothing is translated. */
  readonly translate?: Translate | undefined
  readonly report: Report
}

/** The tools of an edge, each under the policies of the operator, whatever its source. */
export interface EdgeTools {
  readonly tools: (caller: Caller) => ToolSource
  /** The tools of Workers and further sources, also those that models are not offered. */
  readonly workerTools: (caller: Caller) => ToolSource
  readonly finder: ((caller: Caller) => ToolFinder) | undefined
  readonly stored: (whose: 'edge' | 'tenant', caller: Caller) => StoredTools
}

/**
 * Puts the sources of an edge together. Where several have a tool of one name, the operator's own take precedence over
 * the edge's stored definitions, these over those of the caller's tenant, and all over the tools of others.
 */
export function edgeTools(options: EdgeToolsOptions): EdgeTools {
  const { services, others = [], rules, report } = options
  const foreign = options.foreign && behind(options.foreign, services)
  const boundedOthers = others.map((source) => offeredIf(source, options.offersByDefault))
  const own = others.length > 0 ? inOrder([services, ...boundedOthers], report) : services
  const [ownTools, foreignTools] = [bindTools(own, rules), foreign && bindTools(foreign, rules)]
  const workerTools = (caller: Caller) =>
    foreignTools ? inOrder([ownTools(caller), foreignTools(caller)], report) : ownTools(caller)
  const worker = (binding: string) => {
    const source = services.sourceOfBinding(binding) ?? foreign?.sourceOfBinding(binding)
    // A stored name for a tool that models are not offered would offer it.
    return source && forModels(source)
  }
  const owned = options.stored?.({ rules, worker, workerTools, translate: options.translate })
  const unpoliced = [own, ...(owned ? [owned.unpoliced] : []), ...(foreign ? [foreign] : [])]
  const shared = options.search?.(inOrder(unpoliced, report))
  const reportOnce = options.patterns && reportUnmatched({ ...options.patterns, sources: unpoliced, report })
  const offeredOf = (source: ToolSource) =>
    withoutExcluded(reporting(forModels(withoutReserved(source)), reportOnce), options.isExcluded)
  if (!owned)
    return {
      workerTools,
      tools: (caller) => offeredOf(workerTools(caller)),
      finder: shared && (() => shared),
      stored: () => NOTHING_STORED,
    }
  const { edge, tenant } = owned.tools
  return {
    workerTools,
    tools: (caller) => {
      const last = foreignTools ? [foreignTools(caller)] : []
      return offeredOf(inOrder([ownTools(caller), edge(caller), tenant(caller), ...last], report))
    },
    finder: shared && ((caller) => owned.finder(shared, caller.tenant)),
    stored: owned.stored,
  }
}

/** Looks at tools of a source: those to pass on, perhaps as others, and those to hold back, with the reasons. */
type Look = (tools: readonly Tool[]) => ToolListing | Promise<ToolListing>

/** Shows a source through a function that looks at its tools, whichever way they are read. */
function seenThrough<Source extends ToolSource>(source: Source, look: Look): Source {
  return {
    ...source,
    find: async (names) => (await look(await source.find(names))).tools,
    offered: async () => (await look(await source.offered())).tools.filter(({ offered }) => offered),
    list: async (page) => {
      const listing = await source.list(page)
      const { tools, unavailable } = await look(listing.tools)
      return { ...listing, tools, unavailable: [...listing.unavailable, ...unavailable] }
    },
  }
}

/** Holds back tools that would be taken for the one by which models read on in long results. */
function withoutReserved(source: ToolSource): ToolSource {
  const isReserved = ({ definition }: Tool) => definition.name === READ_RESULT
  const reason = `The tool "${READ_RESULT}" is held back: models read on in long results by this name.`
  return seenThrough(source, (tools) => ({
    tools: tools.some(isReserved) ? tools.filter((tool) => !isReserved(tool)) : tools,
    unavailable: tools.filter(isReserved).map(({ origin, place }) => ({ origin, place, reason, name: READ_RESULT })),
  }))
}

/** Leaves out the tools that models are not offered. */
function forModels(source: ToolSource): ToolSource {
  const isOffered = (tool: Tool) => isFor('model', tool)
  return seenThrough(source, (tools) => ({
    tools: tools.every(isOffered) ? tools : tools.filter(isOffered),
    unavailable: [],
  }))
}

/** Offers by default those of the tools that a source offers for which that holds. */
function offeredIf(source: ToolSource, isOffered: EdgeToolsOptions['offersByDefault']): ToolSource {
  if (!isOffered) return source
  // The same object each time, since much is cached by it.
  const heldTools = new WeakMap<Tool, Tool>()
  const bind = (tool: Tool): Tool => {
    if (!tool.offered || isOffered(tool.definition)) return tool
    const heldTool = heldTools.get(tool) ?? { ...tool, offered: false }
    heldTools.set(tool, heldTool)
    return heldTool
  }
  return seenThrough(source, (tools) => ({ tools: tools.map(bind), unavailable: [] }))
}

function withoutExcluded(source: ToolSource, isExcluded: EdgeToolsOptions['isExcluded']): ToolSource {
  if (!isExcluded) return source
  return {
    ...source,
    offered: async () => (await source.offered()).filter(({ definition }) => !isExcluded(definition)),
  }
}

/** Reports patterns that match no tool once the tools have been read. */
function reporting(source: ToolSource, reportOnce: (() => Promise<void>) | undefined): ToolSource {
  if (!reportOnce) return source
  const withReport = async <Value>(answer: Promise<Value>): Promise<Value> => {
    const value = await answer
    await reportOnce()
    return value
  }
  return {
    ...source,
    list: (page) => withReport(source.list(page)),
    offered: () => withReport(source.offered()),
  }
}

const REFUSAL = {
  ok: false,
  issues: [
    { path: '', message: 'expected an edge with the part storedTools and the bindings CATALOG, TOOLS and DEFINITIONS' },
  ],
} as const

/** The stored tools of an edge that cannot store any. */
export const NOTHING_STORED: StoredTools = {
  check: async () => REFUSAL,
  put: async () => REFUSAL,
  rollback: async () => undefined,
  remove: async () => false,
  history: async () => [],
  count: async () => 0,
  version: async () => undefined,
}

/**
 * Gives the operator's own Workers precedence over the tools of others, also while a Worker cannot be described: a tool
 * of others whose name that Worker may have is held back, and listed with the reason. Until an isolate has seen a
 * description of the Worker, that applies to every name.
 */
function behind(source: ServiceSource, own: ServiceSource): ServiceSource {
  const holdBack: Look = async (tools) => {
    const holderOf = tools.length === 0 ? () => undefined : await own.undescribed()
    const heldTools = tools.flatMap(({ definition: { name }, origin, place }) => {
      const holder = holderOf(name)
      const reason = `The tool "${name}" of ${place} is held back: ${holder} may have a tool of this name, and cannot be described now.`
      return holder === undefined ? [] : [{ origin, place, name, reason }]
    })
    const heldNames = new Set(heldTools.map(({ name }) => name))
    return { tools: tools.filter(({ definition }) => !heldNames.has(definition.name)), unavailable: heldTools }
  }
  return seenThrough(source, holdBack)
}
