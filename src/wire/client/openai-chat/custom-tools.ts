import * as v from 'valibot'
import type { ToolCall } from '../../../contract/message.ts'
import type { ClientTool } from '../../../contract/run.ts'
import { argumentsObject } from '../../provider/model-answer.ts'
import { toChatCall } from '../../provider/openai-chat/request.ts'
import type { ChatCustomCall, ChatToolCall } from '../../provider/openai-chat/types.ts'
import { textAt } from '../../fields.ts'
import { someText, toolName, toolReference } from '../../schema.ts'

/*
 * A custom tool takes a text where a function takes an object. A model of any provider can call functions: it is told of one
 * that has this text as its one argument, unless its provider takes the same form (`forms`).
 */

export const customTool = v.object({
  type: v.literal('custom'),
  custom: v.object({
    name: toolName,
    description: v.nullish(v.string(), ''),
    format: v.nullish(
      v.variant('type', [
        v.object({ type: v.literal('text') }),
        v.object({
          type: v.literal('grammar'),
          grammar: v.object({ definition: v.string(), syntax: v.picklist(['lark', 'regex']) }),
        }),
      ]),
    ),
  }),
})

/** Makes the function that stands for a custom tool. */
export function toCustomFunction({
  custom: { name, description, format },
}: v.InferOutput<typeof customTool>): ClientTool {
  const grammar = format?.type === 'grammar' ? format.grammar : undefined
  const inWords = grammar && { description: `A text of this grammar (${grammar.syntax}):\n${grammar.definition}` }
  const properties = { input: { type: 'string', ...inWords } }
  const form = { type: 'custom', name, description, format: grammar && { type: 'grammar', ...grammar } }
  const inputSchema = { type: 'object', properties, required: ['input'] }
  return { name, description, inputSchema, forms: { responses: form } }
}

/** A call of a custom tool in a history, as the call of its function. */
export const customCall = v.pipe(
  v.object({
    id: someText,
    type: v.literal('custom'),
    custom: v.object({ name: toolReference, input: v.string() }),
  }),
  v.transform(({ id: callId, custom: { name: tool, input } }): ToolCall => {
    return { callId, tool, arguments: JSON.stringify({ input }) }
  }),
)

/** Converts a call to the form in which the caller has declared its tool. `customTools`: the names of its custom tools. */
export function toDeclaredCall(call: ToolCall, customTools: ReadonlySet<string>): ChatToolCall | ChatCustomCall {
  const { callId: id, tool: name, arguments: text } = call
  if (!customTools.has(name)) return toChatCall(call)
  return { id, type: 'custom', custom: { name, input: textAt(argumentsObject(text), 'input') } }
}
