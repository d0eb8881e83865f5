import { isObject } from '../../contract/json.ts'
import { type Content, contentText } from '../../contract/message.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { failure, READ_RESULT, type Tool, type ToolOutcome } from '../../contract/tool.ts'
import { truncateOutcome, sizeOf, fullContent } from '../../host/truncate.ts'
import type { Journal } from '../running.ts'

/** The definition of that tool, which is on offer once a result was cut. */
export const READ_RESULT_DEFINITION: ToolDefinition = {
  name: READ_RESULT,
  description:
    'Reads more of a result that was cut or put aside. Takes the id from the note in its place, and returns a part of the text from `offset` on.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      offset: { type: 'integer', minimum: 0, description: 'Characters to skip. Default: 0' },
    },
    required: ['id'],
  },
  version: '1',
  hash: READ_RESULT,
  annotations: { readOnly: true, idempotent: true, openWorld: false },
}

/** The most bytes of one character in UTF-8. */
const MAX_CHARACTER_BYTES = 4
/** Bytes reserved for the note about the part. */
const NOTE_BYTES = 200

export interface VisibleOptions {
  readonly journal: Pick<Journal, 'storeFullResult'>
  readonly callId: string
  readonly limit: number
  /** Whether the model can read the rest. Default: true. */
  readonly isReadable?: boolean
}

/** Returns what a model sees of an outcome. If that is only a part, the full result is stored, of `cut` bytes. */
export function visibleOutcome(
  outcome: ToolOutcome,
  { journal, callId, limit, isReadable = true }: VisibleOptions,
): { readonly visible: ToolOutcome; readonly cut?: number } {
  const readOn = (offset: number) => `; ${READ_RESULT} reads on with the id "${callId}" from offset ${offset}`
  const visible = truncateOutcome(outcome, limit, isReadable ? readOn : undefined)
  if (!outcome.ok || visible === outcome) return { visible }
  const fullResult = fullContent(outcome, limit)
  journal.storeFullResult(callId, fullResult)
  return { visible, cut: fullResult.reduce((sum, part) => sum + sizeOf(part), 0) }
}

/** Makes the tool. `resultOf` returns the whole content of a result, `mostBytes` the size of a part. */
export function readResultTool(
  resultOf: (id: string) => readonly Content[] | undefined,
  mostBytes: () => number,
): Tool {
  return {
    definition: READ_RESULT_DEFINITION,
    origin: 'inline',
    place: 'edge',
    offered: false,
    call: async ({ arguments: args }) =>
      readPart(resultOf, args, Math.max(2, Math.floor((mostBytes() - NOTE_BYTES) / MAX_CHARACTER_BYTES))),
  }
}

function readPart(resultOf: (id: string) => readonly Content[] | undefined, args: unknown, most: number): ToolOutcome {
  const { id, offset = 0 } = isObject(args) ? args : {}
  const content = typeof id === 'string' ? resultOf(id) : undefined
  // Nothing is left of one that is withheld.
  if (!content?.length)
    return failure('unknown_result', 'There is no such result. Give the `id` from the note about the result.')
  const text = contentText(content)
  const from = characterBoundary(text, typeof offset === 'number' ? Math.max(0, Math.floor(offset)) : 0)
  const end = characterBoundary(text, from + most)
  const excerpt = text.slice(from, end)
  const continuation = end < text.length ? `; read on from offset ${end}` : ''
  return {
    ok: true,
    content: [{ type: 'text', text: `${excerpt}\n[${from} to ${end} of ${text.length} characters${continuation}]` }],
  }
}

/** Returns the offset, or the one before it if it would split a surrogate pair. */
function characterBoundary(text: string, offset: number): number {
  if (offset >= text.length) return text.length
  return /[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(Math.max(0, offset - 1), offset + 1)) ? offset - 1 : offset
}
