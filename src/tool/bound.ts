import type { Content } from '../contract/message.ts'
import type { ToolOutcome } from '../contract/tool.ts'

/**
 * An outcome cut down to what a model may see: at most `limit` bytes of UTF-8 text and base64 data over all parts.
 * Text is cut between characters and says how much there was; a part that cannot be cut is named in its place. A
 * structured value that is larger goes, since its text stands for it. `rest` tells how to read what was cut off.
 */
export function boundOutcome(outcome: ToolOutcome, limit: number, rest = ''): ToolOutcome {
  if (!outcome.ok) {
    const message = cut(outcome.error.message, limit)
    return message === outcome.error.message ? outcome : { ok: false, error: { ...outcome.error, message } }
  }
  if (outcome.content.reduce((sum, part) => sum + sizeOf(part), 0) <= limit) return outcome
  let left = limit
  const content = outcome.content.map((part): Content => {
    const bounded = boundPart(part, left, rest)
    left = Math.max(0, left - sizeOf(part))
    return bounded
  })
  const { structured: _, ...success } = outcome
  return { ...success, content }
}

function boundPart(part: Content, limit: number, rest: string): Content {
  if (sizeOf(part) <= limit) return part
  if (part.type === 'text') return { type: 'text', text: cut(part.text, limit, rest) }
  return { type: 'text', text: `[${part.type} of ${part.data.length} bytes left out: over the limit for results]` }
}

const encoder = new TextEncoder()

export function sizeOf(part: Content): number {
  return part.type === 'text' ? encoder.encode(part.text).byteLength : part.data.length
}

function cut(text: string, limit: number, rest = ''): string {
  const bytes = encoder.encode(text)
  if (bytes.byteLength <= limit) return text
  // `stream: true` holds back a character that the cut went through.
  const head = new TextDecoder().decode(bytes.subarray(0, limit), { stream: true })
  return `${head}\n[cut: ${limit} of ${bytes.byteLength} bytes shown${rest}]`
}
