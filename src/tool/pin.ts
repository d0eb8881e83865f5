import type { Tool, ToolDefinition, ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

/**
 * The tools of a run that was told of `definitions` when it began. One that has changed or gone since is not called:
 * its calls say so, and it never means anything else.
 */
export function pinTools(definitions: readonly ToolDefinition[], found: readonly Tool[]): ReadonlyMap<string, Tool> {
  const now = new Map(found.map((tool) => [tool.definition.name, tool]))
  return new Map(definitions.map((pinned) => [pinned.name, pin(pinned, now.get(pinned.name))]))
}

function pin(definition: ToolDefinition, tool: Tool | undefined): Tool {
  const { name, hash } = definition
  if (tool?.definition.hash === hash) return { ...tool, definition }
  const gone = tool ? changed(name) : failure('tool_unavailable', `The tool "${name}" is not available any more.`)
  // What was called before, under the definition of then, is asked about and undone by what there is now.
  return { origin: 'inline', place: 'none', ...tool, definition, offered: false, call: async () => gone }
}

/** The outcome of a call that was meant for another definition than the tool has now. */
export function changed(name: string): ToolFailure {
  return failure('tool_changed', `The tool "${name}" has changed since it was offered; it was not called.`)
}

/** The outcome of undoing a call of a tool that cannot. */
export function cannotUndo(name: string): ToolFailure {
  return failure('cannot_undo', `The tool "${name}" cannot undo its calls.`)
}
