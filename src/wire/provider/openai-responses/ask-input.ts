import { type Message, contentText, type UserContent } from '../../../contract/message.ts'
import { TOOL_SEARCH } from '../../../contract/tool.ts'
import { argumentsText, calledName } from '../call-arguments.ts'
import { encodeOnce } from '../../encode-once.ts'
import { textAt } from '../../fields.ts'
import { urlOf } from '../url-of.ts'
import { outputItems } from './ask-opaque.ts'
import { encodeSearchOutput, isSearch, toSearchCall } from './ask-search.ts'

interface InputItem {
  readonly text: string
  /** The name of the tool that the item calls, or ''. */
  readonly tool: string
}

/**
 * Encodes messages as input items. `found`: the definitions that searches have found, by name. With it, searches become
 * the format's own search items, and a call of a tool that was found names a namespace, which has the tool's own name:
 * OpenAI refuses the call without (“Missing namespace”).
 */
export function encodeInput(
  messages: readonly Message[],
  isPlain: boolean,
  foundTools?: ReadonlyMap<string, string>,
): readonly string[] {
  const encode = isPlain ? encodePlainly : foundTools ? encodeSearching : encodeMessage
  const loaded = new Set<string>()
  return messages.flatMap((message) => {
    if (!foundTools || !isSearch(message)) {
      return encode(message).map(({ text, tool }) =>
        loaded.has(tool) ? `${text.slice(0, -1)},"namespace":"${tool}"}` : text,
      )
    }
    const names = (message.found ?? []).filter((name) => foundTools.has(name))
    for (const name of names) loaded.add(name)
    const definitions = names.flatMap((name) => foundTools.get(name) ?? [])
    return encodeSearchOutput(message.callId, definitions)
  })
}

const encodeMessage = encoder(true, false)
const encodeSearching = encoder(true, true)
const encodePlainly = encoder(false, false)

function encoder(withReasoning: boolean, withSearch: boolean): (message: Message) => readonly InputItem[] {
  return encodeOnce((message) => toItems(message, withReasoning, withSearch).map(encodeItem))
}

/** Encodes an item without members that are null, which servers send but do not accept. Only calls have a name. */
function encodeItem(item: object): InputItem {
  return { text: JSON.stringify(item, (_, value: unknown) => value ?? undefined), tool: textAt(item, 'name') }
}

function toItems(message: Message, withReasoning: boolean, withSearch: boolean): readonly object[] {
  switch (message.role) {
    case 'assistant': {
      const { content, calls = [], opaque } = message
      const callItems = calls.map(({ callId, tool, arguments: text }) =>
        withSearch && tool === TOOL_SEARCH
          ? toSearchCall(callId, text)
          : { type: 'function_call', call_id: callId, name: calledName(tool), arguments: argumentsText(text) },
      )
      return outputItems(content, callItems, withReasoning ? opaque : undefined)
    }
    case 'tool': {
      const { callId, content } = message
      const isText = content.every(({ type }) => type === 'text')
      return [
        { type: 'function_call_output', call_id: callId, output: isText ? contentText(content) : content.map(toPart) },
      ]
    }
    default: {
      const { role, content } = message
      return [{ role, content: typeof content === 'string' ? content : content.map(toPart) }]
    }
  }
}

function toPart(part: UserContent): object {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const url = urlOf(part)
  if (part.type === 'file' && 'url' in part) return { type: 'input_file', file_url: url }
  return part.type === 'image'
    ? { type: 'input_image', detail: 'auto', image_url: url }
    : { type: 'input_file', filename: 'file', file_data: url }
}
