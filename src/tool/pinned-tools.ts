import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { Tool, ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

/**
 * Returns the tools of a run by name, pinned to the definitions that the run began with. A tool that has changed or
 * gone since is not called: its calls fail and say so, so that a name never comes to mean another tool.
 */
export function pinTools(
  definitions: readonly ToolDefinition[],
  currentTools: readonly Tool[],
): ReadonlyMap<string, Tool> {
  const toolsByName = new Map(currentTools.map((tool) => [tool.definition.name, tool]))
  return new Map(
    definitions.map((definition) => [definition.name, pinTool(definition, toolsByName.get(definition.name))]),
  )
}

function pinTool(definition: ToolDefinition, tool: Tool | undefined): Tool {
  const { name, hash } = definition
  if (tool?.definition.hash === hash) {
    // The hash does not cover the version: the same definition may have been deployed as another one.
    const { version } = tool.definition
    return { ...tool, definition: version === definition.version ? definition : { ...definition, version } }
  }
  const outcome = tool
    ? toolChanged(name)
    : failure('tool_unavailable', `The tool "${name}" is not available any more.`)
  // Status and undo of calls under the earlier definition go to the tool as it is now.
  return {
    origin: 'inline',
    place: 'none',
    ...tool,
    definition,
    offered: false,
    isWithdrawn: true,
    call: async () => outcome,
  }
}

/** Returns the outcome of a call that was meant for another definition than the tool has now. */
export function toolChanged(name: string): ToolFailure {
  return failure('tool_changed', `The tool "${name}" has changed since it was offered; it was not called.`)
}

/** Returns the outcome of an undo that the tool does not support. */
export function cannotUndo(name: string): ToolFailure {
  return failure('cannot_undo', `The tool "${name}" cannot undo its calls.`)
}
