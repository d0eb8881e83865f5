import type { DefinitionIssue, DefinitionService, UsableDefinition, ToolHosts } from '../../contract/definition.ts'
import { TOOL_NAME } from '../../contract/id.ts'
import { canonicalJson, parseJson } from '../../contract/json.ts'
import type { Report } from '../../contract/setup.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import {
  type ListPage,
  type Tool,
  type ToolListing,
  type ToolSource,
  ToolsUnavailable,
  type Unavailable,
} from '../../contract/tool.ts'
import { cannotUndo, toolChanged } from '../../tool/pinned-tools.ts'
import {
  type CatalogueService,
  type Change,
  type CheckReply,
  type Owner,
  storedPlace,
  type StoredTools,
  type VersionedDefinitions,
  type VersionWrite,
  type WriteReply,
  type WriteTerms,
} from '../../contract/catalogue.ts'
import { messageOf } from '../../contract/thrown.ts'
import { unreachable } from '../worker/call.ts'
import { fillFromWorker, NO_NAMESPACE, scriptRefusal, type Scripts } from '../worker/script.ts'
import { tightenAlias } from '../policy/policies.ts'
import { openVersionCache, type StoredRecord, type ToolNamespace } from '../stored/version-cache.ts'

export interface KvOptions {
  /** The owner of the definitions. Default: `edge`. */
  readonly owner?: Owner
  /** The owner's part of the catalogue's read copy. */
  readonly namespace: ToolNamespace
  /** Takes all writes of the owner's definitions. */
  readonly catalogue: CatalogueService
  /** Checks and performs the definitions. */
  readonly definitions: VersionedDefinitions
  readonly hosts: ToolHosts
  /** The most that the catalogue may hold. Default: no limit. */
  readonly most?: VersionWrite['most']
  /**
   * Returns the hosts that each of a tool's policies names, undefined for a policy that names none; the tool may reach
   * the hosts that are in all of these lists. Default: all of `hosts`.
   */
  readonly hostsOf?: (tool: Pick<Tool, 'definition' | 'place'>) => readonly (readonly string[] | undefined)[]
  /** Returns the value of a secret, such as `SECRET_WEATHER`. */
  readonly secret: (name: string) => string | undefined
  /** Returns the tools of a bound Worker. A stored definition may be an alias of one of them. */
  readonly worker: (binding: string) => ToolSource | undefined
  /** The Workers of the dispatch namespace, whose tools definitions may name. Default: this edge has none. */
  readonly scripts?: Scripts | undefined
  /** The rights of the caller who reads or writes. Default: those of the operator, who may call any tool. */
  readonly rights?: CallerRights
  /** Receives the reason why stored definitions cannot be read. Default: it is not reported. */
  readonly report?: Report
  readonly now?: () => number
}

/** What a caller may know of. A stored definition neither calls nor reveals anything else. */
export interface CallerRights {
  /** The tools of a bound Worker that the caller may call, with the policies that bind them. */
  readonly worker: (binding: string) => ToolSource | undefined
  /** Whether the caller may know of a tool that its Worker does not have at present. */
  readonly mayKnow: (target: { readonly definition: { readonly name: string }; readonly place: string }) => boolean
  /** Returns what already has a name, such as `a tool of a bound Worker`; a definition must not have that name. */
  readonly holderOf: (name: string) => Promise<string | undefined>
}

const UNREADABLE = 'the stored definitions cannot be read now'

/** The terms of a write whose author is unknown. */
const UNNAMED: WriteTerms = { by: { tenant: 'unknown' } }

/**
 * Makes a source of the tools whose definitions the catalogue holds, read from its copy in KV, and writes them. A write
 * of another isolate is seen at most ten seconds after KV's own delay, a write of this isolate at once. A run that
 * finds its tools again reads at most the index, whatever the number of definitions. A definition that cannot be used
 * is listed as unavailable. While KV fails, the index that was read last is used; without one, `find` and `offered` reject.
 */
export function kvSource(options: KvOptions): ToolSource & StoredTools {
  const { owner = 'edge', namespace, catalogue, definitions, hosts, now = Date.now } = options
  const { rights = { worker: options.worker, mayKnow: () => true, holderOf: async () => undefined } } = options
  const fail = (error: unknown): string => {
    options.report?.({ event: 'tools.unavailable', place: 'TOOLS', detail: messageOf(error) })
    return UNREADABLE
  }
  const readValues = (values: Parameters<DefinitionService['read']>[0]) => definitions.read(values, hosts)
  const cache = openVersionCache(namespace, { readValues, fail, now })

  const load = async (names: readonly string[]): Promise<ToolListing> => {
    const tools: Tool[] = []
    const unavailable: Unavailable[] = []
    for (const [name, record] of await cache.read(names)) {
      const place = storedPlace(owner, name)
      const tool = await toTool(place, record, { ...options, rights })
      if (typeof tool === 'string') unavailable.push({ origin: 'kv', place, reason: tool, name })
      else if (tool) tools.push(tool)
    }
    return { tools, unavailable }
  }
  const loadAll = async (namesOf: () => Promise<readonly string[]>): Promise<readonly Tool[]> =>
    readableTools(await namesOf().then(load).catch(brokenListing))
  const list = async (page: ListPage | undefined): Promise<ToolListing> => {
    const names = await cache.names()
    if (!page) return load(names)
    const { after, limit, origin = 'kv' } = page
    if (origin !== 'kv') return { tools: [], unavailable: [], total: 0 }
    const rest = names.filter((name) => name > after).sort()
    return { ...(await load(rest.slice(0, limit))), total: names.length }
  }
  const brokenListing = (error: unknown): ToolListing => ({
    tools: [],
    unavailable: [{ origin: 'kv', place: 'TOOLS', reason: fail(error) }],
  })
  const prepare = (name: string, definition: unknown) => prepareWrite(name, definition, { ...options, owner, rights })
  const write = async (
    name: string,
    definition: unknown,
    terms: WriteTerms & Pick<VersionWrite, 'action'>,
  ): Promise<WriteReply> => {
    const checked = await prepare(name, definition)
    if (!checked.ok) return checked
    const { text, metadata } = checked.kept
    const { hash, default: offered } = metadata
    const { version } = checked.read.definition
    const reply = await catalogue.write({ ...terms, owner, name, hash, text, offered, version, most: options.most })
    if (!reply.ok) return reply
    const { revision, ...rest } = reply
    cache.own(name, { revision, record: checked.read })
    return { ...rest, hash, warnings: checked.warnings ?? [] }
  }
  const versionOf = async (name: string, hash: string): Promise<unknown> =>
    parseJson((TOOL_NAME.test(name) && (await catalogue.version(name, hash))) || '')

  return {
    find: async (names) => (names.length === 0 ? [] : loadAll(async () => names)),
    list: (page) => list(page).catch(brokenListing),
    size: () => cache.size().catch(() => 0),
    texts: () => cache.texts().catch(() => []),
    searchable: () => cache.searchable().catch(() => ({ removed: [], texts: [] })),
    offered: async () => (await loadAll(() => cache.offered())).filter((tool) => tool.offered),
    check: async (name, definition) => {
      const [[, current] = []] = await cache.read([name])
      return checkWrite(name, definition, { ...options, owner, rights, current })
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
    count: () => catalogue.size(),
  }
}

/** Returns the tools of a listing. Throws ToolsUnavailable if KV cannot tell of one of them now. */
function readableTools({ tools, unavailable }: ToolListing): readonly Tool[] {
  if (unavailable.some(({ reason }) => reason === UNREADABLE))
    throw new ToolsUnavailable('The stored tools of this edge cannot be read now.')
  return tools
}

/** Checks a definition, and whether its writer may store it. */
async function prepareWrite(
  name: string,
  definition: unknown,
  { owner = 'edge', scripts, definitions, hosts, rights }: CallOptions,
): ReturnType<DefinitionService['write']> {
  const filled = await fillFromWorker(name, definition, { owner, scripts })
  if (!filled.ok) return filled
  const checked = await definitions.write(name, filled.definition, hosts)
  if (!checked.ok) return checked
  const issues = await rightIssues(checked.read, rights)
  return issues.length > 0 ? { ok: false, issues } : checked
}

/** Checks a definition that is not stored. `current`: the version that it would replace. */
async function checkWrite(
  name: string,
  definition: unknown,
  { current, ...options }: CallOptions & { readonly current: StoredRecord | undefined },
): Promise<CheckReply> {
  const { owner = 'edge', definitions } = options
  const checked = await prepareWrite(name, definition, options)
  if (!checked.ok) return checked
  const { read, warnings = [] } = checked
  const change: Change =
    typeof current === 'object'
      ? await definitions.compare(canonicalJson(current.stored), checked.kept.text)
      : { change: 'created', breaks: [] }
  const tool = await toTool(storedPlace(owner, name), read, options)
  if (typeof tool === 'string') return { ok: false, issues: [{ path: '', message: tool }] }
  return { ok: true, definition: read.definition, ...change, warnings, tool }
}

type CallOptions = KvOptions & { readonly rights: CallerRights }

/**
 * Returns the tool of a record, or the reason why it cannot be called here; undefined for an alias of a tool that the
 * caller may not know of.
 */
async function toTool(place: string, record: StoredRecord, options: CallOptions): Promise<Tool | string | undefined> {
  if (typeof record === 'string') return record
  const { definition, offered, alias, isRequest, worker: scriptTool } = record
  const kind = isRequest ? { isRequest } : {}
  const common = { origin: 'kv', place, offered, checksOutput: true, ...kind } as const
  if (scriptTool) {
    const { owner = 'edge', scripts } = options
    if (!scripts) return NO_NAMESPACE
    const refusal = scriptRefusal(owner, scriptTool.script)
    if (refusal !== undefined) return refusal
    const target = scripts.tool(scriptTool, definition, place)
    const { script } = scriptTool
    return { ...common, script, definition, call: callOf(place, record, options, target), ...furtherMethods(target) }
  }
  if (!alias) return { ...common, definition, call: callOf(place, record, options) }
  const { binding, call } = alias
  const { rights, worker } = options
  const [target] = (await rights.worker(binding)?.find([call])) ?? []
  if (target) {
    return {
      ...common,
      definition: aliasOf(definition, target.definition),
      call: callOf(place, record, options, target),
      ...furtherMethods(target),
    }
  }
  const [hidden] = (await worker(binding)?.find([call])) ?? []
  const mayKnow = !hidden && rights.mayKnow({ definition: { name: call }, place: binding })
  return mayKnow ? `${binding} has no tool "${call}" now` : undefined
}

/** Returns the functions of a Worker's tool beside `call`, as far as it has them. */
function furtherMethods(target: Tool): Pick<Tool, 'status' | 'undo' | 'poll' | 'receive'> {
  const { name, hash } = target.definition
  return {
    ...(target.status && {
      status: async (request) => (await target.status?.({ ...request, name, hash })) ?? 'unknown',
    }),
    ...(target.undo && {
      undo: async (request, outcome) => (await target.undo?.({ ...request, name, hash }, outcome)) ?? cannotUndo(name),
    }),
    ...(target.poll && {
      poll: async (request, state) => (await target.poll?.({ ...request, name, hash }, state)) ?? toolChanged(name),
    }),
    ...(target.receive && { receive: async (outcome) => (await target.receive?.(outcome)) ?? outcome }),
  }
}

/**
 * The definitions of aliases, by their own and their target's: the same object each time, since much is cached by it.
 */
const aliases = new WeakMap<ToolDefinition, { readonly target: ToolDefinition; readonly definition: ToolDefinition }>()

function aliasOf(alias: ToolDefinition, target: ToolDefinition): ToolDefinition {
  const cached = aliases.get(alias)
  if (cached?.target === target) return cached.definition
  const definition = tightenAlias(alias, target)
  aliases.set(alias, { target, definition })
  return definition
}

/** `target`: the tool of a Worker that is called, as the caller may. */
function callOf(place: string, record: UsableDefinition, options: CallOptions, target?: Tool): Tool['call'] {
  const { definitions, secret, hostsOf } = options
  const { definition, secrets: names, stored } = record
  const policyHosts = hostsOf?.({ definition, place }) ?? []
  const hosts = Object.fromEntries(
    Object.entries(options.hosts).filter(([host]) => policyHosts.every((some) => some?.includes(host) ?? true)),
  )
  const { name, hash } = definition
  return async (request, control) => {
    if (request.hash !== hash) return toolChanged(name)
    const secrets = Object.fromEntries(names.map((each) => [each, secret(each) ?? '']))
    const outcome = await definitions.call(stored, request, { hosts, secrets }, control)
    if (outcome || !target) return outcome ?? unreachable(name, 'the definition has no target')
    // The bound tool gets the same arguments, under the name and hash that its Worker knows.
    const { name: call, hash: targetHash } = target.definition
    const aliasOutcome = await target.call({ ...request, name: call, hash: targetHash }, control)
    return definition.outputSchema ? definitions.checkOutcome(definition, aliasOutcome) : aliasOutcome
  }
}

/** Returns what a caller may not store: a name that is taken, or an alias of a tool that the caller may not call. */
async function rightIssues({ definition, alias }: UsableDefinition, rights: CallerRights): Promise<DefinitionIssue[]> {
  const { name } = definition
  const holder = await rights.holderOf(name)
  const issues =
    holder === undefined ? [] : [{ path: 'name', message: `expected an unused name: "${name}" is ${holder}` }]
  if (!alias) return issues
  const { binding, call } = alias
  const worker = await rights.worker(binding)?.list()
  if (worker?.tools.some((tool) => tool.definition.name === call)) return issues
  const broken = worker?.unavailable.find(({ pending }) => !pending || pending.definition.name === call)
  if (broken) issues.push({ path: 'binding', message: `${binding} could not list its tools: ${broken.reason}` })
  // The same message for an unknown binding, an unknown tool, and a tool that this caller may not call.
  else issues.push({ path: 'call', message: `expected a tool that you may call, received "${call}" of ${binding}` })
  return issues
}
