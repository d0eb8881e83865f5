import type { NamedTool } from '../../contract/tool-names.ts'
import type { RunState } from '../state.ts'

/** Returns the name of the tool that a call reaches: the tool behind an alias, else the tool itself. */
export function targetOf({ offered }: Pick<RunState, 'offered'>, tool: string): string {
  return offered.get(tool)?.aliasOf ?? tool
}

/** Returns the tool that a call names, and the one that it reaches: the same unless it is a call of an alias. */
export function namedTools(
  { offered }: Pick<RunState, 'offered'>,
  name: string,
): { readonly tool: NamedTool; readonly target: NamedTool } {
  const { ownName, aliasOf } = offered.get(name) ?? {}
  const own = ownName === undefined ? {} : { ownName }
  // An alias has no name on a server: its `ownName` is that of the tool behind it.
  return aliasOf === undefined
    ? { tool: { name, ...own }, target: { name, ...own } }
    : { tool: { name }, target: { name: aliasOf, ...own } }
}

/** Whether two calls are of the same tool, by whatever name, with the same arguments. */
export function isSameCall(
  state: Pick<RunState, 'offered'>,
  one: { readonly tool: string; readonly arguments: string },
  other: { readonly tool: string; readonly arguments: string },
): boolean {
  return targetOf(state, one.tool) === targetOf(state, other.tool) && one.arguments === other.arguments
}
