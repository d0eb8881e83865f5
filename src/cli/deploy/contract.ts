import type { DefinitionIssue } from '../../contract/definition.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { contractBreaks } from '../../definitions/change.ts'
import type { Descriptions } from '../check/describe.ts'
import type { CheckProblem } from '../check/problem.ts'
import type { DeployedWorker } from './record.ts'

/** A tool that callers of the live one can no longer rely on. */
export interface ContractBreak {
  readonly worker: string
  readonly tool: string
  /** What changes, such as `inputSchema.properties.zone is required now`. */
  readonly reason: string
}

/**
 * Compares the tools that are live with those that are to be deployed. A tool that another Worker has from now on is
 * not gone. Workers that are neither live nor described are left out.
 */
export function breaksOf(live: readonly DeployedWorker[], next: Descriptions): readonly ContractBreak[] {
  const all = [...next.values()].flat()
  return live.flatMap(({ name: worker, tools }) => {
    if (!next.has(worker)) return []
    return tools.flatMap((before) => {
      const after = all.find(({ name }) => name === before.name)
      const reason = after ? issuesText(contractBreaks(before, after)) : removal(before, all, live)
      return reason === '' ? [] : [{ worker, tool: before.name, reason }]
    })
  })
}

function issuesText(issues: readonly DefinitionIssue[]): string {
  return issues.map(({ path, message }) => `${path} ${message}`).join('; ')
}

/** Tells that a tool is gone, or that a new one with its schema seems to be the same under another name. */
function removal(before: ToolDefinition, next: readonly ToolDefinition[], live: readonly DeployedWorker[]): string {
  const liveNames = new Set(live.flatMap(({ tools }) => tools.map(({ name }) => name)))
  const sameSchema = JSON.stringify(before.inputSchema)
  const renamed = next.find(
    ({ name, inputSchema }) => !liveNames.has(name) && JSON.stringify(inputSchema) === sameSchema,
  )
  return renamed ? `it is named ${renamed.name} now` : 'it is gone'
}

/** Returns the breaks that are not allowed by name, as problems of the Worker's configuration. */
export function contractProblems(
  breaks: readonly ContractBreak[],
  { allowed, configOf }: { readonly allowed: readonly string[]; readonly configOf: (worker: string) => string },
): readonly CheckProblem[] {
  return breaks
    .filter(({ tool }) => !allowed.includes(tool))
    .map(({ worker, tool, reason }) => ({
      file: configOf(worker),
      message: `The tool ${tool} would break its callers: ${reason}.`,
      remedy: `If that is meant, deploy with --allow-break ${tool}.`,
    }))
}
