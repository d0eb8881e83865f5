/**
 * The door for tests of tool Workers, in Node: a Worker on workerd, the checks of the tool contract, and those of
 * stored definitions.
 */
export type { ToolContext, ToolDefinition, ToolOutcome, ToolService } from './contract/tool.ts'
export { checkConformance, type Fault } from './testing/conformance.ts'
export { definitionIssues } from './testing/definition.ts'
export { type RunningTool, startTool, type StartToolOptions } from './testing/running-tool.ts'
