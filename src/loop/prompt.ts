import type { Message } from '../contract/message.ts'
import type { ModelRequest, ToolChoice } from '../contract/model.ts'
import type { ClientTool } from '../contract/run.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import { feedback } from './format.ts'
import type { Running } from './running.ts'
import type { RunState } from './state.ts'
import { asData } from './taint.ts'
import { READ_RESULT, READ_RESULT_DEFINITION } from './whole.ts'

/** What the model is asked in the step under way. */
export function modelRequest({ state, history }: Pick<Running, 'state' | 'history'>): ModelRequest {
  const { system, toolChoice, chosenAt = 0, responseFormat, sampling } = state.request
  const rejected = state.step?.rejected ?? []
  // After a limit, and to mend its answer, the model must answer in words. A choice that was forced once is kept:
  // repeating it would never end.
  const tools = state.limit || rejected.length > 0 ? [] : definitions(state)
  const choice = state.rounds === chosenAt ? toolChoice : toolChoice === 'none' ? 'none' : undefined
  const messages: Message[] = [...history, ...state.messages].map((message) =>
    message.role === 'tool' ? asData(message) : message,
  )
  messages.push(...feedback(rejected))
  if (system) messages.unshift({ role: 'system', content: system })
  return {
    messages,
    tools,
    ...(choice !== undefined && mayChoose(choice, tools) && { toolChoice: choice }),
    ...(responseFormat && { responseFormat }),
    ...(sampling && { sampling }),
  }
}

/** A provider refuses the choice of a tool that it is not told of. */
function mayChoose(choice: ToolChoice, tools: readonly ToolDefinition[]): boolean {
  return typeof choice === 'object' ? tools.some(({ name }) => name === choice.tool) : tools.length > 0
}

const told = new WeakMap<RunState['offered'], readonly ToolDefinition[]>()

/** One array for a run whose tools stay, so that a codec can encode it once. */
function definitions({ offered, request, step, readable }: RunState): readonly ToolDefinition[] {
  let list = told.get(offered)
  if (!list) told.set(offered, (list = [...offered.values(), ...request.clientTools.map(toDefinition)]))
  const active = step?.tools ? list.filter(({ name }) => step.tools?.includes(name)) : list
  return readable && !offered.has(READ_RESULT) ? [...active, READ_RESULT_DEFINITION] : active
}

function toDefinition(tool: ClientTool): ToolDefinition {
  return { ...tool, version: '1', hash: '', annotations: {} }
}
