import { type Content, type TextContent, contentText } from '../contract/message.ts'
import type { ToolFault, ToolOutcome, ToolSuccess } from '../contract/tool.ts'

/**
 * Cuts an outcome down to what a model may see: at most `limit` bytes of UTF-8 text and base64 data over all parts.
 * Text is cut between characters, with a note of its full size. A note replaces a part that cannot be cut, and a
 * structured value over the limit; metadata over the limit is left out. `continuation` returns a text that says how to
 * read on from an offset of the full text (its parts joined by line ends).
 */
export function truncateOutcome(
  outcome: ToolOutcome,
  limit: number,
  continuation: ContinuationNote = () => '',
): ToolOutcome {
  if (!outcome.ok) {
    const { error } = outcome
    const message = truncateText(error.message, { limit, fullSize: fullSizes.get(error) })
    return message === error.message ? outcome : { ...outcome, error: withFullSize({ ...error, message }, error) }
  }
  if (outcome.metadata && JSON.stringify(outcome.metadata).length > limit) {
    const { metadata: _, ...success } = outcome
    return truncateOutcome(success, limit, continuation)
  }
  const value = largeValue(outcome, limit)
  if (value) {
    const { structured: _, content, ...success } = outcome
    const note = omissionNote(
      'value',
      sizeOf(value),
      continuation(contentText([...content, value]).length - value.text.length),
    )
    return { ...success, content: [...content, note] }
  }
  // No UTF-16 unit takes more than three bytes of UTF-8, so that most outcomes pass without being encoded.
  if (sum(outcome.content, maxSizeOf) <= limit || sum(outcome.content, sizeOf) <= limit) return outcome
  let bytesLeft = limit
  let charactersBefore = 0
  const content = outcome.content.map((part): Content => {
    const partStart = charactersBefore
    const truncated = truncatePart(part, bytesLeft, (offset) => continuation(partStart + offset))
    bytesLeft = Math.max(0, bytesLeft - sizeOf(part))
    charactersBefore += contentText([part]).length + 1
    return truncated
  })
  const { structured: _, ...success } = outcome
  return { ...success, content }
}

type ContinuationNote = (offset: number) => string

/** Returns all of an outcome as content; a structured value over the limit is the last part. */
export function fullContent(outcome: ToolSuccess, limit: number): readonly Content[] {
  const value = largeValue(outcome, limit)
  return value ? [...outcome.content, value] : outcome.content
}

/** Returns a structured value over the limit as text. Content that is over the limit too has the value in it. */
function largeValue({ content, structured }: ToolSuccess, limit: number): TextContent | undefined {
  if (structured === undefined || sum(content, sizeOf) > limit) return undefined
  const value = { type: 'text', text: JSON.stringify(structured) } as const
  return sizeOf(value) > limit ? value : undefined
}

function omissionNote(kind: string, bytes: number, continuation = ''): Content {
  return { type: 'text', text: `[${kind} of ${bytes} bytes left out: over the limit for results${continuation}]` }
}

function truncatePart(part: Content, limit: number, continuation: ContinuationNote): Content {
  if (sizeOf(part) <= limit) return part
  if (part.type === 'text') {
    const text = truncateText(part.text, { limit, fullSize: fullSizes.get(part), continuation })
    return withFullSize({ type: 'text', text }, part)
  }
  return omissionNote(part.type, part.data.length)
}

function sum(content: readonly Content[], size: (part: Content) => number): number {
  let bytes = 0
  for (const part of content) bytes += size(part)
  return bytes
}

function maxSizeOf(part: Content): number {
  return part.type === 'text' ? part.text.length * 3 : part.data.length
}

const encoder = new TextEncoder()

export function sizeOf(part: Content): number {
  return part.type === 'text' ? encoder.encode(part.text).byteLength : part.data.length
}

interface TruncateTextOptions {
  readonly limit: number
  /** The size before an earlier cut. Default: that of the text. */
  readonly fullSize?: number | undefined
  readonly continuation?: ContinuationNote
}

function truncateText(text: string, { limit, fullSize, continuation = () => '' }: TruncateTextOptions): string {
  if (text.length * 3 <= limit) return text
  const bytes = encoder.encode(text)
  if (bytes.byteLength <= limit) return text
  // With `stream: true` the decoder holds back a character that was cut in two.
  const head = new TextDecoder().decode(bytes.subarray(0, limit), { stream: true })
  return `${head}\n[cut: ${limit} of ${fullSize ?? bytes.byteLength} bytes shown${continuation(head.length)}]`
}

type Cut = TextContent | ToolFault

/**
 * The sizes that texts had before they were cut, by what holds the text: an outcome is cut by the host, and again to what
 * its model may see. They are beside the outcome, where no tool can write them.
 */
const fullSizes = new WeakMap<Cut, number>()

/** Notes the full size of a text that was cut. */
function withFullSize<Holder extends Cut>(cut: Holder, original: Cut): Holder {
  fullSizes.set(cut, fullSizes.get(original) ?? encoder.encode(textOf(original)).byteLength)
  return cut
}

function textOf(holder: Cut): string {
  return 'text' in holder ? holder.text : holder.message
}
