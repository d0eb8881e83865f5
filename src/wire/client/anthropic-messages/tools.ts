import * as v from 'valibot'
import { isObject } from '../../../contract/json.ts'
import type { ToolChoice } from '../../../contract/model.ts'
import { edgeName } from '../../../contract/tool-names.ts'
import type { ClientTool } from '../../../contract/run.ts'
import { either, isText, longToolName, parametersSchema } from '../../schema.ts'
import { TOOL_FIELDS } from '../../tool-fields.ts'
import { type Hint, type HostedTool, otherMembers } from '../members.ts'
import { optionalFlag } from '../openai-chat/request.ts'
import { isTypedTool, typedTool } from './typed-tools.ts'

/** A tool that Anthropic would run, or a set of the caller's that only its models know. */
const serverTool = v.looseObject({ type: v.string(), name: v.nullish(v.string(), '') })

/** What stands for the tool of its name which the operator of the edge has set up. */
const EDGE_TOOL = /^(?:web_search|web_fetch|code_execution)_\d{8}$/
/** Searches the deferred tools of the request within an answer. Only Anthropic can. */
const SEARCH = /^tool_search_tool_/

function isServerTool(value: unknown): boolean {
  return isObject(value) && isText(value['type']) && value['type'] !== 'custom'
}

const clientTool = v.pipe(
  v.object({
    type: v.nullish(v.literal('custom')),
    name: longToolName,
    description: v.nullish(v.string(), ''),
    input_schema: parametersSchema,
    strict: optionalFlag,
    defer_loading: optionalFlag,
    input_examples: v.nullish(TOOL_FIELDS.inputExamples.caller.wrapped),
    allowed_callers: v.nullish(
      v.pipe(
        v.array(v.string()),
        v.check((callers) => callers.includes('direct'), 'must include "direct".'),
      ),
    ),
  }),
  v.transform(
    ({ name, description, input_schema, strict, input_examples: inputExamples, defer_loading }): ClientTool => {
      return {
        name,
        description,
        inputSchema: input_schema,
        ...(inputExamples && { inputExamples }),
        ...(strict && { strict }),
        ...(defer_loading && { deferred: defer_loading }),
      }
    },
  ),
)

/** A tool of a request: of the caller's, or one that Anthropic would run. */
export const messagesTool = either(isTypedTool, typedTool, either(isServerTool, serverTool, clientTool))

type MessagesTool = v.InferOutput<typeof messagesTool>

export function isClientTool(tool: MessagesTool): tool is ClientTool {
  return 'inputSchema' in tool
}

/** Returns the tools of the caller. One that is deferred stays so until a result of the caller names it, unless Anthropic would search it. */
export function clientTools(tools: readonly MessagesTool[]): readonly ClientTool[] {
  const own = tools.filter(isClientTool).map((tool) => ({ ...tool, name: edgeName(tool.name) }))
  return tools.some(isSearch) ? own.map(({ deferred: _deferred, ...tool }) => tool) : own
}

/** Returns what a model of Anthropic's is told of its search: the tools that search, and the names of those to be found. */
export function searchHints(tools: readonly MessagesTool[], choice: ToolChoice | undefined): readonly Hint[] {
  const deferred = tools.flatMap((tool) => {
    const name = edgeName(tool.name)
    return isClientTool(tool) && tool.deferred && !(typeof choice === 'object' && choice.tool === name) ? [name] : []
  })
  const forms = tools.flatMap((tool) =>
    isClientTool(tool) || !isSearch(tool) ? [] : [{ type: tool.type, name: tool.name }],
  )
  const place = `tools[${tools.findIndex(isSearch)}]`
  return forms.length === 0 ? [] : [{ name: 'tool_search', vendor: 'anthropic', value: { forms, deferred }, place }]
}

function isSearch(tool: MessagesTool): boolean {
  return !isClientTool(tool) && SEARCH.test(tool.type)
}

/** Returns what is ignored of a tool that Anthropic would run: the operator of the edge sets up how it works. */
function ignoredOfTool(tool: MessagesTool, place: string): readonly string[] {
  if (isClientTool(tool) || isSearch(tool)) return []
  return !EDGE_TOOL.test(tool.type) ? [place] : otherMembers(place, tool, ['type', 'name', 'cache_control'])
}

/** Returns what is ignored of these tools. */
export function ignoredInTools(tools: readonly MessagesTool[]): readonly string[] {
  return tools.flatMap((tool, index) => ignoredOfTool(tool, `tools[${index}]`))
}

/** Returns those of these tools that stand for tools of the edge. */
export function hostedTools(tools: readonly MessagesTool[]): readonly HostedTool[] {
  return tools.flatMap((tool, index) =>
    !isClientTool(tool) && EDGE_TOOL.test(tool.type) ? [{ name: tool.name, place: `tools[${index}]` }] : [],
  )
}
