import type { PolicySubject } from '../../contract/policy.ts'
import { readToolPatterns, type ToolPattern, unmatchedPatterns } from '../../contract/tool-patterns.ts'
import { ConfigError } from '../../contract/vars.ts'
import { edgeName } from '../../contract/tool-names.ts'
import type { DefinitionFile } from '../definitions.ts'
import type { ListedTool } from '../listing.ts'
import type { Descriptions } from './describe.ts'
import type { CheckProblem } from './problem.ts'
import type { Target } from './target.ts'

/** The files of a project in which tools are described. */
export interface ProjectTools {
  readonly targets: readonly Target[]
  readonly definitions: readonly DefinitionFile[]
}

/**
 * Returns the tools of a project as policies see them. Undefined if not all are described here, such as those that a
 * Worker brings in from other servers.
 */
export function subjectsHere(
  described: Descriptions,
  { targets, definitions }: ProjectTools,
): readonly PolicySubject[] | undefined {
  const edge = targets.find(({ role }) => role === 'edge')
  if (!edge || (edge.exports ?? []).length > 0) return undefined
  const workers = (edge.settings.services ?? [])
    .filter(({ binding }) => binding.startsWith('TOOL_'))
    .map(({ binding, service }) => ({ binding, tools: described.get(service) ?? [] }))
  if (workers.some(({ tools }) => tools.length === 0)) return undefined
  return [
    ...definitions.map(({ name, definition: { tags } }) => subjectOf({ name, tags }, `tool:${edgeName(name)}`)),
    ...workers.flatMap(({ binding, tools }) => tools.map((definition) => ({ definition, place: binding }))),
  ]
}

/**
 * Returns the tools that an edge lists as policies see them. Undefined if a source is not available, or if policies may
 * hide some from the key that asks.
 */
export function subjectsAtEdge(
  listing: readonly ListedTool[],
  { settings: { vars } }: Target,
): readonly PolicySubject[] | undefined {
  const isHiding = /"(?:scopes|tenants)"/.test(JSON.stringify(vars['TOOL_POLICY'] ?? '').replaceAll('\\"', '"'))
  if (isHiding || listing.some(({ name, place }) => name === place)) return undefined
  return listing.map((tool) => subjectOf(tool, tool.place))
}

function subjectOf(
  { name, ownName, tags }: { readonly name: string; readonly ownName?: string; readonly tags?: unknown },
  place: string,
): PolicySubject {
  const definition = {
    name: edgeName(name),
    ...(ownName !== undefined && { ownName }),
    ...(Array.isArray(tags) && { tags: tags.map(String) }),
  }
  return { definition, place }
}

/** Returns the patterns in variables of the edge that match none of these tools, so that they have no effect. */
export function patternProblems(
  { settings, config }: Target,
  subjects: readonly PolicySubject[],
): readonly CheckProblem[] {
  const bindings = (settings.services ?? []).map(({ binding }) => binding)
  return unmatchedPatterns(patternsOf(settings.vars), subjects, bindings).map(({ variable, pattern }) => ({
    file: config,
    message: `${variable} names "${pattern}", which matches no tool, so that it has no effect.`,
    remedy: 'Correct or remove it.',
  }))
}

/** A variable that cannot be read is reported where the edge starts. */
function patternsOf(vars: Target['settings']['vars']): readonly ToolPattern[] {
  try {
    return readToolPatterns(vars)
  } catch (error) {
    if (error instanceof ConfigError) return []
    throw error
  }
}
