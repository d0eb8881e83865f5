import { type Content, type TextContent, textOf } from '../contract/message.ts'
import type { ToolOutcome, ToolSuccess } from '../contract/tool.ts'

/**
 * Cuts an outcome down to what a model may see: at most `limit` bytes of UTF-8 text and base64 data over all parts.
 * Text is cut between characters, with a note of its full size; a note replaces a part that cannot be cut, and follows
 * the content in place of a structured value over the limit. `rest` returns words on how to read on from an offset into
 * the whole text (its parts joined by line ends).
 */
export function boundOutcome(outcome: ToolOutcome, limit: number, rest: Rest = () => ''): ToolOutcome {
  if (!outcome.ok) {
    const message = cut(outcome.error.message, limit)
    return message === outcome.error.message ? outcome : { ...outcome, error: { ...outcome.error, message } }
  }
  const value = largeValue(outcome, limit)
  if (value) {
    const { structured: _, content, ...success } = outcome
    const note = leftOut('value', sizeOf(value), rest(textOf([...content, value]).length - value.text.length))
    return { ...success, content: [...content, note] }
  }
  // No UTF-16 unit takes more than three bytes of UTF-8, so that most outcomes pass without being encoded.
  if (sum(outcome.content, mostOf) <= limit || sum(outcome.content, sizeOf) <= limit) return outcome
  let left = limit
  let before = 0
  const content = outcome.content.map((part): Content => {
    const start = before
    const bounded = boundPart(part, left, (shown) => rest(start + shown))
    left = Math.max(0, left - sizeOf(part))
    before += textOf([part]).length + 1
    return bounded
  })
  const { structured: _, ...success } = outcome
  return { ...success, content }
}

type Rest = (offset: number) => string

/** Returns all of an outcome as content; a structured value over the limit is the last part. */
export function wholeOf(outcome: ToolSuccess, limit: number): readonly Content[] {
  const value = largeValue(outcome, limit)
  return value ? [...outcome.content, value] : outcome.content
}

/** Returns a structured value over the limit as text. Content that is over the limit too has the value in it. */
function largeValue({ content, structured }: ToolSuccess, limit: number): TextContent | undefined {
  if (structured === undefined || sum(content, sizeOf) > limit) return undefined
  const value = { type: 'text', text: JSON.stringify(structured) } as const
  return sizeOf(value) > limit ? value : undefined
}

function leftOut(what: string, bytes: number, rest = ''): Content {
  return { type: 'text', text: `[${what} of ${bytes} bytes left out: over the limit for results${rest}]` }
}

function boundPart(part: Content, limit: number, rest: Rest): Content {
  if (sizeOf(part) <= limit) return part
  if (part.type === 'text') return { type: 'text', text: cut(part.text, limit, rest) }
  return leftOut(part.type, part.data.length)
}

function sum(content: readonly Content[], size: (part: Content) => number): number {
  let bytes = 0
  for (const part of content) bytes += size(part)
  return bytes
}

function mostOf(part: Content): number {
  return part.type === 'text' ? part.text.length * 3 : part.data.length
}

const encoder = new TextEncoder()

export function sizeOf(part: Content): number {
  return part.type === 'text' ? encoder.encode(part.text).byteLength : part.data.length
}

function cut(text: string, limit: number, rest: Rest = () => ''): string {
  if (text.length * 3 <= limit) return text
  const bytes = encoder.encode(text)
  if (bytes.byteLength <= limit) return text
  // With `stream: true` the decoder holds back a character that was cut in two.
  const head = new TextDecoder().decode(bytes.subarray(0, limit), { stream: true })
  return `${head}\n[cut: ${limit} of ${bytes.byteLength} bytes shown${rest(head.length)}]`
}
