import { matches } from './glob.ts'
import type { ToolDefinition } from './tool.ts'
import { nameOf, wireName } from './wire-name.ts'

/** What the names of a tool are made of. */
export type NamedTool = Pick<ToolDefinition, 'name' | 'ownName'>

/**
 * Returns the names by which an operator knows a tool: the one on offer (`files_x2e_delete`) and the one that it stands
 * for (`files.delete`). The name that the tool has where it comes from, if that is another one, is in `foreignNames`.
 */
export function operatorNames({ name, ownName }: NamedTool): readonly string[] {
  const plain = nameOf(name) ?? (ownName !== undefined && wireName(ownName) === name ? ownName : name)
  return plain === name ? [name] : [name, plain]
}

/**
 * Returns the names that a tool has only where it comes from, such as that on an MCP server whose tools get a prefix
 * here. Its author chooses them, so they may make the host more careful, never less.
 */
export function foreignNames({ name, ownName }: NamedTool): readonly string[] {
  if (ownName === undefined || ownName === '') return []
  return [...new Set([ownName, wireName(ownName)])].filter((each) => !operatorNames({ name, ownName }).includes(each))
}

/** Returns whether a pattern, in which `*` stands for any text, matches one of the names of a tool. */
export function matchesName(pattern: string, names: readonly string[]): boolean {
  return names.some((name) => matches([pattern], name))
}

/**
 * Returns whether a list of patterns selects a tool by its names: one matches, and none of the exclusions (`!pattern`)
 * does. A list of exclusions alone selects all other tools. An exclusion also counts by the names in `foreignNames`.
 */
export function selectsTool(patterns: readonly string[], tool: NamedTool): boolean {
  const excluded = patterns.flatMap((pattern) => (pattern.startsWith('!') ? [pattern.slice(1)] : []))
  const wanted = patterns.filter((pattern) => !pattern.startsWith('!'))
  const names = operatorNames(tool)
  if (excluded.some((pattern) => matchesName(pattern, [...names, ...foreignNames(tool)]))) return false
  return (wanted.length === 0 && excluded.length > 0) || wanted.some((pattern) => matchesName(pattern, names))
}
