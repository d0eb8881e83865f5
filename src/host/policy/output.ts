import type { DefinitionService } from '../../contract/definition.ts'
import type { Report } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import type { Tool, ToolOutcome } from '../../contract/tool.ts'

/** Binds a tool by its output schema, if it has one and its source does not check results itself. */
export type OutputCheck = (tool: Tool) => Tool

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
    if (!outputSchema || !(checksOutput || isChecked(place))) return tool
    const check = async (outcome: ToolOutcome): Promise<ToolOutcome> => {
      if (!outcome.ok) return outcome
      try {
        return await definitions.checkOutcome({ name, outputSchema }, outcome)
      } catch (error) {
        report({ event: 'output.not_checked', tool: name, place, detail: messageOf(error) })
        return outcome
      }
    }
    // A reported outcome has passed no Worker that could have checked it.
    if (checksOutput) return definition.later ? { ...tool, receive: check } : tool
    const [status, poll] = [tool.status?.bind(tool), tool.poll?.bind(tool)]
    return {
      ...tool,
      receive: check,
      call: async (request, control) => check(await tool.call(request, control)),
      ...(poll && { poll: async (request, state) => check(await poll(request, state)) }),
      ...(status && {
        status: async (request) => {
          const answer = await status(request)
          if (typeof answer === 'string' || !answer.ok) return answer
          return (await check(answer)).ok ? answer : 'done'
        },
      }),
    }
  }
}
