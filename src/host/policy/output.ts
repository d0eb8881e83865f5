import type { DefinitionService } from '../../contract/definition.ts'
import type { Report } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import type { Tool, ToolOutcome } from '../../contract/tool.ts'
import type { ToolGuard } from '../../contract/guard.ts'

/** Makes the guard that checks the results of a tool by its output schema. Undefined if there is nothing to check. */
export type OutputCheck = (tool: Tool) => ToolGuard | undefined

export interface OutputCheckOptions {
  /** Has the checker of JSON Schema, which is not in the edge's bundle. */
  readonly definitions: Pick<DefinitionService, 'checkOutcome'>
  /** Whether the tools of a place, such as the binding `TOOL_CLOCK`, are checked. */
  readonly isChecked: (place: string) => boolean
  readonly report: Report
}

/**
 * Makes the check of the results of tools that are not checked where they run. A result that does not fit becomes the
 * failure `invalid_output`. A result that cannot be checked, since the checker fails, is passed on and reported.
 */
export function outputCheck({ definitions, isChecked, report }: OutputCheckOptions): OutputCheck {
  return (tool) => {
    const { definition, place, checksOutput } = tool
    const { name, outputSchema } = definition
    if (!outputSchema || (checksOutput ? !definition.later : !isChecked(place))) return undefined
    const check = async (outcome: ToolOutcome): Promise<ToolOutcome> => {
      if (!outcome.ok) return outcome
      try {
        return await definitions.checkOutcome({ name, outputSchema }, outcome)
      } catch (error) {
        report({ event: 'output.not_checked', tool: name, place, detail: messageOf(error) })
        return outcome
      }
    }
    return async (operation, next) => {
      const answer = await next(operation)
      switch (operation.do) {
        case 'receive':
          // A reported outcome has passed no Worker that could have checked it.
          return typeof answer === 'string' ? answer : check(answer)
        case 'call':
        case 'poll':
          return typeof answer === 'string' || checksOutput ? answer : check(answer)
        case 'status': {
          if (typeof answer === 'string' || !answer.ok || checksOutput) return answer
          return (await check(answer)).ok ? answer : 'done'
        }
        case 'undo':
          return answer
      }
    }
  }
}
