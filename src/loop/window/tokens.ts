import type { PromptSize } from '../../contract/context.ts'
import type { Message, UserContent } from '../../contract/message.ts'
import type { ModelRequest } from '../../contract/model.ts'
import { describeTool, type ModelTool } from '../../contract/tool-definition.ts'
import { clip } from '../effects.ts'

/** A rough cost of an image or a file, whatever its size, as long as the model has counted none. */
export const TOKENS_A_FILE = 1500
/** What a message costs beside its content. */
const TOKENS_A_MESSAGE = 4

/** The tokens of one character by kind, as measured with the tokenizers of current models. */
const LETTER = 1 / 4.6
const DIGIT = 1 / 2.2
const SIGN = 1 / 1.7
const EUROPEAN = 1 / 3.2
const EAST_ASIAN = 1 / 1.2
const OTHER = 1 / 2.2
/** What each letter costs beyond that, from the 20th character of a word on: hashes, base64, long addresses. */
const IN_LONG_WORD = 1 / 2.4
const LONG_WORD = 20

/** The tokens of each ASCII character outside a long word. */
const ASCII = Float64Array.from({ length: 128 }, (_, code) => {
  if (code <= 32 || isLetter(code)) return LETTER
  return code >= 48 && code <= 57 ? DIGIT : SIGN
})

/**
 * Estimates the number of tokens of a text without a tokenizer. It is wrong by about a fifth, in the same direction for
 * the same model and kind of text, so a factor that is learnt from the model's own counts corrects it.
 */
export function textTokens(text: string): number {
  let tokens = 0
  let word = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    tokens += code < 128 ? (ASCII[code] ?? 0) : code < 0x590 ? EUROPEAN : isEastAsian(code) ? EAST_ASIAN : OTHER
    if (code <= 32) word = 0
    else if (++word > LONG_WORD && isLetter(code)) tokens += IN_LONG_WORD
  }
  return Math.ceil(tokens)
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90)
}

function isEastAsian(code: number): boolean {
  return (code >= 0x2e80 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af) || code >= 0xf900
}

/** The estimated tokens of the texts of a message, and the number of its files. */
interface MessageSize {
  readonly text: number
  readonly files: number
}

const sizes = new WeakMap<Message, MessageSize>()

/** Estimates the size of a message; only once for the same message. */
export function messageSize(message: Message): MessageSize {
  let size = sizes.get(message)
  if (!size) sizes.set(message, (size = estimateSize(message)))
  return size
}

/** Estimates the number of tokens of a message for a model of which nothing is known. */
export function tokensOf(message: Message): number {
  const { text, files } = messageSize(message)
  return text + files * TOKENS_A_FILE
}

function estimateSize(message: Message): MessageSize {
  const { content } = message
  const parts: readonly UserContent[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  let text = TOKENS_A_MESSAGE
  let files = 0
  for (const part of parts) {
    if (part.type === 'text') text += textTokens(part.text)
    else files += 1
  }
  if (message.role !== 'assistant') return { text, files }
  text += textTokens(message.reasoning ?? '')
  for (const call of message.calls ?? []) text += TOKENS_A_MESSAGE + textTokens(call.tool) + textTokens(call.arguments)
  return { text, files }
}

const definitionTokens = new WeakMap<ModelTool, number>()

export interface Countable extends Pick<ModelRequest, 'messages' | 'responseFormat'> {
  readonly tools: readonly ModelTool[]
}

/** Estimates the tokens of tools; of each only once. */
export function toolTokens(tools: readonly ModelTool[]): number {
  return tools.reduce((total, tool) => {
    const knownTokens = definitionTokens.get(tool)
    if (knownTokens !== undefined) return total + knownTokens
    const tokens = textTokens(JSON.stringify([tool.name, describeTool(tool), tool.inputSchema]))
    definitionTokens.set(tool, tokens)
    return total + tokens
  }, 0)
}

/** Estimates the size of a request, with its tools and the schema of its answer. */
export function promptSize({ messages, tools, responseFormat }: Countable): PromptSize {
  let text = toolTokens(tools)
  if (responseFormat) text += textTokens(JSON.stringify(responseFormat))
  let files = 0
  for (const message of messages) {
    const size = messageSize(message)
    text += size.text
    files += size.files
  }
  return { text, files }
}

/** The part of a prompt that the summary of what has left it may take. */
const SUMMARY_SHARE = 0.2

/** Returns the beginning of a summary that leaves room for others in a prompt of so many tokens. */
export function fitSummary(text: string, tokens: number): string {
  const most = tokens * SUMMARY_SHARE
  let short = text
  for (let size = textTokens(text); size > most && short !== ''; size = textTokens(short))
    short = clip(short, Math.floor((short.length - 1) * Math.min(0.95, most / size)))
  return short
}
