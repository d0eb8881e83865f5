import type { Config } from '../../contract/config.ts'
import type { LoopSetup } from '../../contract/hook.ts'
import type { Limits } from '../../contract/limits.ts'
import { removalsOf, type RunRequest, type ToolSelection } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { edgeName, foreignNames, nameOf, operatorNames } from '../../contract/tool-names.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { READ_RESULT, type Tool, toolNamesOf, type ToolSource } from '../../contract/tool.ts'
import { Problem } from '../problem.ts'

/**
 * Returns the edge's tools on offer in a run, with those that the setup's hooks add, without those that the selection
 * removes. Throws a Problem for a name of the selection that no tool has, also for one to remove: what a misspelled name
 * restricts would be on offer. A selection of the edge itself may also remove a tool that the caller may not know of.
 * A client tool that has the name of one of the edge's tools takes its place, which is added to `replacements`; without
 * these, it throws a Problem, unless the run has none of the edge's tools and is in no conversation.
 */
export async function selectTools(
  { tools, loop }: Setup,
  run: RunRequest,
  {
    isOfCaller = true,
    replacements,
  }: { readonly isOfCaller?: boolean; readonly replacements?: Set<string> | undefined } = {},
): Promise<readonly Tool[]> {
  const { selection } = run
  // A request for no tools gets none. Outside of a conversation its own tools may then have any names.
  const wantsNone = selection !== undefined && 'length' in selection && selection.length === 0
  if (wantsNone && run.conversation === undefined) return []
  const source = tools(run.caller)
  const [selectedTools, hookTools, clashes] = await Promise.all([
    toolsOfSelection(source, selection, isOfCaller),
    toolsOfHooks(source, loop, run),
    run.clientTools.length === 0 ? [] : source.find(run.clientTools.map((tool) => tool.name)),
  ])
  const isReserved = run.clientTools.some(({ name }) => name === READ_RESULT)
  const names = clashes.map(({ definition }) => definition.name)
  const clash = isReserved ? READ_RESULT : replacements ? undefined : names[0]
  if (clash !== undefined) {
    const message = `The tool "${clash}" exists at the edge; rename the client tool of this name.`
    throw new Problem({ status: 400, code: 'tool_name_conflict', message, param: 'tools' })
  }
  for (const name of names) replacements?.add(name)
  if (wantsNone) return []
  const removals = removalsOf(selection)
  const knownNames = new Set([...removals, ...selectedTools.map((tool) => tool.definition.name)])
  return [...selectedTools, ...hookTools.filter((tool) => !knownNames.has(tool.definition.name))].filter(
    ({ definition }) => !names.includes(definition.name),
  )
}

/** Returns the tools that the hooks add. Names that no source knows are left out. */
async function toolsOfHooks(
  source: ToolSource,
  loop: LoopSetup | undefined,
  run: RunRequest,
): Promise<readonly Tool[]> {
  const names = await Promise.all(loop?.hooks?.map(async (hook) => (await hook.offer?.(run)) ?? []) ?? [])
  const uniqueNames = [...new Set(names.flat().map(edgeName))]
  return uniqueNames.length === 0 ? [] : source.find(uniqueNames)
}

async function toolsOfSelection(
  source: ToolSource,
  selection: ToolSelection | undefined,
  isOfCaller: boolean,
): Promise<readonly Tool[]> {
  if (selection === undefined) return source.offered()
  if ('length' in selection) return toolsNamed(source, selection)
  const removals = removalsOf(selection)
  const offered = await source.offered()
  const offeredNames = new Set(offered.map(({ definition }) => definition.name))
  const [additions] = await Promise.all([
    toolsNamed(source, selection.add?.filter((name) => !offeredNames.has(name)) ?? []),
    checkNames(source, { names: removals.filter((name) => !offeredNames.has(name)), param: 'tools', isOfCaller }),
  ])
  return [...offered, ...additions].filter(({ definition }) => !removals.includes(definition.name))
}

/**
 * Throws a Problem for a name in the limits of a request that no tool has: the tool that was meant would have no limit.
 * `tools`: those on offer.
 */
export async function checkLimits(
  setup: Setup,
  { caller, clientTools }: Pick<RunRequest, 'caller' | 'clientTools'>,
  { limits = {}, tools }: { readonly limits?: Partial<Limits> | undefined; readonly tools: readonly Tool[] },
): Promise<void> {
  const ownNames = tools.flatMap(({ definition }) => [...operatorNames(definition), ...foreignNames(definition)])
  const ofHooks = setup.loop?.hooks?.flatMap(({ brings = [] }) => brings) ?? []
  const onOffer = new Set([READ_RESULT, ...ofHooks, ...ownNames, ...clientTools.map(({ name }) => name)])
  const names = Object.keys(limits.tools ?? {}).filter((name) => !onOffer.has(name))
  await checkNames(setup.tools(caller), { names, param: 'limits.tools', isOfCaller: true })
}

interface NamesToCheck {
  readonly names: readonly string[]
  /** The field of the request that has them. */
  readonly param: string
  /** Whether the caller has named them: tools that it may not know of are then unknown. */
  readonly isOfCaller: boolean
}

/**
 * Throws a Problem for a name that no tool has. While a tool Worker cannot be described, the names of its last description
 * count; where there was none, it rejects with `ToolsUnavailable`.
 */
async function checkNames(source: ToolSource, { names, param, isOfCaller }: NamesToCheck): Promise<void> {
  if (names.length === 0) return
  const standings = await toolNamesOf(source, names)
  const isUnknown = (name: string) => !standings.has(name) || (isOfCaller && standings.get(name) === 'hidden')
  const unknown = names.find(isUnknown)
  if (unknown !== undefined) throw unknownTool(unknown, param)
}

async function toolsNamed(source: ToolSource, names: readonly string[]): Promise<readonly Tool[]> {
  if (names.length === 0) return []
  const byName = new Map((await source.find(names)).map((tool) => [tool.definition.name, tool]))
  return [...new Set(names)].map((name) => {
    const tool = byName.get(name)
    if (tool) return tool
    throw unknownTool(name, 'tools')
  })
}

function unknownTool(name: string, param: string): Problem {
  const ownName = nameOf(name) ?? name
  const hint = ownName.includes('*') ? ' Name each tool: patterns are not read here.' : ''
  const message = `There is no tool "${ownName}" at this edge.${hint}`
  return new Problem({ status: 400, code: 'unknown_tool', message, param })
}

/** How many lists an isolate caches. */
const MOST_LISTS = 16

interface CachedList {
  readonly definitions: readonly ToolDefinition[]
  readonly text: string
}

/** The latest lists, the newest first. */
let lists: readonly CachedList[] = []

/**
 * Returns the JSON of the definitions of these tools. Definitions are the same objects as long as a description is cached,
 * so most requests have a list that is in JSON already.
 */
export function definitionsText(tools: readonly Tool[]): string {
  const list = lists.find(
    ({ definitions }) =>
      definitions.length === tools.length && tools.every(({ definition }, index) => definition === definitions[index]),
  )
  if (list) return list.text
  const definitions = tools.map(({ definition }) => definition)
  const text = JSON.stringify(definitions)
  lists = [{ definitions, text }, ...lists].slice(0, MOST_LISTS)
  return text
}

/**
 * Returns the tool context of a request: the edge's defaults, overridden by the values that the request sends, and all
 * of these by the edge's pinned values. If none of them has a `timeZone`, that of the place from which the request came
 * is added, if the platform knows it.
 */
export function requestValues(
  request: Request,
  { context, pinnedContext }: Pick<Config, 'context' | 'pinnedContext'>,
  values: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const timeZone = request.cf?.timezone
  return { ...(timeZone !== undefined && { timeZone }), ...context, ...values, ...pinnedContext }
}
