import { TOOL_NAME } from '../contract/id.ts'
import { isObject } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import { checkSchema } from '../schema/check.ts'
import type { ContractPart, Fault } from './fault.ts'

/** Checks a definition. `nextTools`: what the Worker described the next time, which must be the same. */
export function definitionFaults(tool: ToolDefinition, nextTools: readonly ToolDefinition[] | Fault): Fault[] {
  const { name, description, inputSchema, outputSchema, hash, version } = tool
  const faults: Fault[] = []
  const add = (check: ContractPart, message: string) => void faults.push({ tool: name, check, message })
  if (!TOOL_NAME.test(name)) add('describe', 'A name has 1 to 64 letters, digits, "_" or "-".')
  if (typeof description !== 'string' || description.trim() === '') add('describe', 'A description is missing.')
  if (typeof hash !== 'string' || hash === '') add('describe', 'A hash of the definition is missing.')
  if (typeof version !== 'string') add('describe', 'A version is missing.')
  if (!isObject(tool.annotations)) add('describe', 'annotations must be an object, which may be empty.')
  const other = 'check' in nextTools ? undefined : nextTools.find((each) => each.name === name)
  if (other?.hash !== hash) add('describe', 'The hash differs from one describe() to the next.')
  if (!isObject(inputSchema) || inputSchema['type'] !== 'object') add('schema', 'inputSchema needs type "object".')
  else for (const issue of checkSchema(inputSchema)) add('schema', `inputSchema: ${issueText(issue)}`)
  if (outputSchema === undefined) return faults
  for (const issue of checkSchema(outputSchema, 'any')) add('schema', `outputSchema: ${issueText(issue)}`)
  return faults
}

function issueText(issue: unknown): string {
  return typeof issue === 'string' ? issue : JSON.stringify(issue)
}
