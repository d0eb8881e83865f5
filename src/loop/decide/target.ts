import type { RunState } from '../state.ts'

/** Returns the name of the tool that a call reaches: the tool behind an alias, else the tool itself. */
export function targetOf({ offered }: Pick<RunState, 'offered'>, tool: string): string {
  return offered.get(tool)?.aliasOf ?? tool
}

/** Whether two calls are of the same tool, by whatever name, with the same arguments. */
export function isSameCall(
  state: Pick<RunState, 'offered'>,
  one: { readonly tool: string; readonly arguments: string },
  other: { readonly tool: string; readonly arguments: string },
): boolean {
  return targetOf(state, one.tool) === targetOf(state, other.tool) && one.arguments === other.arguments
}
