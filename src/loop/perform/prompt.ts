import type { Message } from '../../contract/message.ts'
import type { ModelRequest, ToolChoice } from '../../contract/model.ts'
import type { ClientTool, RunRequest } from '../../contract/run.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { feedback } from './response-format.ts'
import type { Running } from '../running.ts'
import type { RunState } from '../state.ts'
import { asData } from '../decide/data-flow-guard.ts'
import { READ_RESULT, READ_RESULT_DEFINITION } from '../decide/truncated-result.ts'

/** Builds the model request of the step under way. */
export function modelRequest({ state, history, model }: Pick<Running, 'state' | 'history' | 'model'>): ModelRequest {
  const { system, toolChoice, chosenAt = 0, responseFormat, sampling, limits } = state.request
  const { firstByteMs, silenceMs } = { ...limits, ...model.patience }
  const rejected = state.step?.rejections ?? []
  // After a limit, and to correct its answer, the model must answer in text. A forced tool choice applies until the
  // model has called tools: forced on and on, it would never finish.
  const tools = state.limit || rejected.length > 0 ? [] : definitions(state)
  const choice = state.rounds === chosenAt ? toolChoice : toolChoice === 'none' ? 'none' : undefined
  const messages: Message[] = [...history, ...state.messages].map((message) =>
    message.role === 'tool' ? asData(message) : message,
  )
  messages.push(...feedback(rejected))
  if (system) messages.unshift(systemMessage(state.request, system))
  return {
    messages,
    tools,
    ...(choice !== undefined && mayChoose(choice, tools) && { toolChoice: choice }),
    ...(responseFormat && { responseFormat }),
    ...(sampling && { sampling }),
    patience: { firstByteMs, silenceMs },
  }
}

/** Providers reject the choice of a tool that is not in the request. */
function mayChoose(choice: ToolChoice, tools: readonly ToolDefinition[]): boolean {
  return typeof choice === 'object' ? tools.some(({ name }) => name === choice.tool) : tools.length > 0
}

const systemMessages = new WeakMap<RunRequest, Message>()

/** Returns the same message in each step of a run, so that a codec can encode what follows it once. */
function systemMessage(request: RunRequest, content: string): Message {
  let message = systemMessages.get(request)
  if (!message) systemMessages.set(request, (message = { role: 'system', content }))
  return message
}

const definitionLists = new WeakMap<RunState['offered'], readonly ToolDefinition[]>()

/** Returns the same array as long as the tools of the run stay the same, so that a codec can encode it once. */
function definitions({ offered, request, step, hasTruncatedResult }: RunState): readonly ToolDefinition[] {
  let list = definitionLists.get(offered)
  if (!list) definitionLists.set(offered, (list = [...offered.values(), ...request.clientTools.map(toDefinition)]))
  const active = step?.tools ? list.filter(({ name }) => step.tools?.includes(name)) : list
  return hasTruncatedResult && !offered.has(READ_RESULT) ? [...active, READ_RESULT_DEFINITION] : active
}

function toDefinition(tool: ClientTool): ToolDefinition {
  return { ...tool, version: '1', hash: '', annotations: {} }
}
