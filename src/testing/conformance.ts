import { isObject } from '../contract/json.ts'
import type { ToolDefinition, ToolService } from '../contract/tool.ts'
import { callFaults } from './call-checks.ts'
import { definitionFaults } from './definition-checks.ts'
import type { Fault } from './fault.ts'
import { refusalFaults, unknownToolFaults } from './refusal-checks.ts'
import { settled } from './settled.ts'
import type { ConformanceOptions, TestedService } from './tested-service.ts'

/**
 * Checks that a Worker keeps the tool contract, in whatever language it is written. Returns what is wrong; an empty list
 * means nothing. Tools that have a case are called about ten times with effect, also twice at once, with a result that
 * nobody wants, and while the Worker is lost; all others are called with wrong arguments alone, without effect.
 *
 * @example
 * const tool = await startTool('tools/greeting')
 * expect(await checkConformance(tool.service)).toEqual([])
 */
export async function checkConformance(
  service: TestedService,
  options: ConformanceOptions = {},
): Promise<readonly Fault[]> {
  const { cases = {}, settleMs = 10_000 } = options
  const tools = await describedTools(service, settleMs)
  if ('check' in tools) return [tools]
  const names = tools.map(({ name }) => name)
  const twice = names.filter((name, at) => names.indexOf(name) !== at)
  const faults: Fault[] = twice.map((tool) => ({ tool, check: 'describe', message: 'Two tools have this name.' }))
  for (const tool of Object.keys(cases))
    if (!names.includes(tool)) faults.push({ tool, check: 'describe', message: 'There is a case for it, and no tool.' })
  const nextTools = await describedTools(service, settleMs)
  for (const tool of tools) {
    const toolCase = cases[tool.name]
    faults.push(...definitionFaults(tool, nextTools), ...(await refusalFaults(service, tool, settleMs)))
    if (toolCase) faults.push(...(await callFaults(service, tool, { ...options, settleMs, toolCase })))
  }
  return [...faults, ...(await unknownToolFaults(service, settleMs))]
}

/** Returns the tools that a Worker describes, or the fault in its description. */
async function describedTools(service: ToolService, settleMs: number): Promise<readonly ToolDefinition[] | Fault> {
  const description = await settled(service.describe(), settleMs)
  if (!description.ok) return { check: 'describe', message: `describe() threw: ${description.reason}` }
  const { value } = description
  if (isObject(value) && value.contract === 1 && Array.isArray(value.tools)) return value.tools
  return { check: 'describe', message: 'describe() must answer { contract: 1, tools: [] }.' }
}
