import type { Message } from '../../contract/message.ts'
import type { ChatModel, ModelRequest, ToolChoice } from '../../contract/model.ts'
import type { ClientTool } from '../../contract/run.ts'
import { mayCall, type ToolDefinition } from '../../contract/tool.ts'
import { feedback } from './response-format.ts'
import type { Running } from '../running.ts'
import type { RunState } from '../state.ts'
import { placedMessages, reductionOf } from '../window/fit.ts'
import { visibleMessages } from '../window/plan.ts'
import { instructionsOf } from './tool-instructions.ts'
import { asData } from '../decide/data-flow-guard.ts'
import { READ_RESULT, READ_RESULT_DEFINITION } from '../decide/truncated-result.ts'

/** Builds the model request of the step under way. */
export function modelRequest(
  running: Pick<Running, 'state' | 'history' | 'prompt'> & { readonly model: Pick<ChatModel, 'patience'> },
): ModelRequest {
  const { state, model } = running
  const { conversation, toolChoice, chosenAt = 0, responseFormat, sampling, limits } = state.request
  const { firstByteMs, silenceMs } = { ...limits, ...model.patience }
  const rejected = state.step?.rejections ?? []
  // After a limit, and to correct its answer, the model must answer in text. A forced tool choice applies only until
  // the model has called tools; otherwise the run would never finish.
  const tools = state.limit || rejected.length > 0 ? [] : definitions(state)
  const choice = state.rounds === chosenAt ? toolChoice : toolChoice === 'none' ? 'none' : undefined
  const messages = visibleMessages(placedMessages(running), reductionOf(running)).map((message) =>
    message.role === 'tool' ? asData(message) : message,
  )
  messages.push(...feedback(rejected))
  const system = systemMessage(state)
  if (system) messages.unshift(system)
  return {
    messages,
    tools,
    ...(choice !== undefined && mayChoose(choice, tools) && { toolChoice: choice }),
    ...(responseFormat && { responseFormat }),
    ...(sampling && { sampling }),
    ...(conversation !== undefined && { cacheKey: conversation }),
    patience: { firstByteMs, silenceMs },
  }
}

/** Providers reject the choice of a tool that is not in the request. */
function mayChoose(choice: ToolChoice, tools: readonly ToolDefinition[]): boolean {
  return typeof choice === 'object' ? tools.some(({ name }) => name === choice.tool) : tools.length > 0
}

const systemMessages = new WeakMap<RunState['offered'], { readonly system: string; readonly message?: Message }>()

/**
 * Returns the system text of the run with the instructions of its tools; undefined if there is neither. As long as both
 * stay the same, so does the object, so that a codec can encode what follows it once.
 */
function systemMessage({ request: { system = '' }, offered }: RunState): Message | undefined {
  const cached = systemMessages.get(offered)
  if (cached?.system === system) return cached.message
  const texts = [system, instructionsOf(offered.values()) ?? ''].filter((text) => text !== '')
  const message: Message | undefined = texts.length > 0 ? { role: 'system', content: texts.join('\n\n') } : undefined
  systemMessages.set(offered, { system, ...(message && { message }) })
  return message
}

const definitionLists = new WeakMap<RunState['offered'], readonly ToolDefinition[]>()

/** Returns the same array as long as the tools of the run stay the same, so that a codec can encode it once. */
function definitions({ offered, request, step, hasTruncatedResult }: RunState): readonly ToolDefinition[] {
  let list = definitionLists.get(offered)
  if (!list) {
    const ofEdge = [...offered.values()].filter((tool) => mayCall(tool, 'model'))
    definitionLists.set(offered, (list = [...ofEdge, ...request.clientTools.map(toDefinition)]))
  }
  const active = step?.tools ? list.filter(({ name }) => step.tools?.includes(name)) : list
  return hasTruncatedResult && !offered.has(READ_RESULT) ? [...active, READ_RESULT_DEFINITION] : active
}

function toDefinition(tool: ClientTool): ToolDefinition {
  return { ...tool, version: '1', hash: '', annotations: {} }
}
