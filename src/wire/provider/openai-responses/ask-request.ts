import type { ModelRequest, ToolChoice } from '../../../contract/model.ts'
import { TOOL_SEARCH } from '../../../contract/tool.ts'
import { jsonText } from '../json-text.ts'
import { encodeInput } from './ask-input.ts'
import { encodeSearchTool, foundIn } from './ask-search.ts'
import { encodeTool } from './ask-tool.ts'

/**
 * Encodes the body of a streamed request for an answer that the server does not store. Reasoning comes and goes back
 * encrypted; `isPlain` leaves it out, for models that refuse it. `deferLoading`: the definitions that a search found
 * are sent with its result, not with the tools.
 */
export function encodeResponsesRequest(
  model: string,
  request: ModelRequest,
  isPlain = false,
  deferLoading = false,
): string {
  const { messages, tools, toolChoice, responseFormat, sampling } = request
  const { parallel_tool_calls, max_tokens, max_completion_tokens, reasoning_effort, verbosity, ...passed } =
    sampling ?? {}
  const head = {
    prompt_cache_key: request.cacheKey,
    ...passed,
    // Fields of Chat Completions that servers refuse in this format.
    stop: undefined,
    seed: undefined,
    logit_bias: undefined,
    model,
    stream: true,
    store: false,
    include: isPlain ? undefined : ['reasoning.encrypted_content'],
    max_output_tokens: max_completion_tokens ?? max_tokens,
    reasoning: reasoning_effort && { effort: reasoning_effort },
    ...((responseFormat || verbosity !== undefined) && { text: { format: responseFormat, verbosity } }),
    ...(tools.length > 0 && { tool_choice: toToolChoice(toolChoice), parallel_tool_calls }),
  }
  const foundTools = deferLoading ? foundIn(request) : undefined
  const beforehand = tools.filter(({ name }) => !foundTools?.has(name))
  return jsonText(head, {
    tools: beforehand.map((tool) =>
      foundTools && tool.name === TOOL_SEARCH ? encodeSearchTool(tool) : encodeTool(tool),
    ),
    input: encodeInput(messages, isPlain, foundTools),
  })
}

function toToolChoice(choice: ToolChoice | undefined): unknown {
  return typeof choice === 'object' ? { type: 'function', name: choice.tool } : choice
}
