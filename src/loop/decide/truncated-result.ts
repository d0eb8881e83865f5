import { parentOfCall } from '../../contract/id.ts'
import { type Content, contentText, type DataMark } from '../../contract/message.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { failure, READ_RESULT, type Tool, type ToolOutcome } from '../../contract/tool.ts'
import { truncateOutcome, sizeOf, fullContent } from '../../host/truncate.ts'
import { callLine, type KnownCall } from '../effects.ts'
import type { Journal } from '../running.ts'
import type { NotesReading } from '../window/planner.ts'
import { isNotes } from '../../contract/context.ts'

/** The definition of that tool, which is on offer once a result was cut or a prompt was reduced. */
export const READ_RESULT_DEFINITION: ToolDefinition = {
  name: READ_RESULT,
  description:
    'Reads what was cut, put aside or left out. Takes the id from the note in its place: that of a result or of notes, or that of a call with ".arguments" or ".calls" after it, for its arguments, or for what it has called as a program or an agent. Long texts come in parts.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      offset: { type: 'integer', minimum: 0, description: 'Characters to skip. Default: 0' },
      search: { type: 'string', description: 'Words. Only lines that have all of them are returned.' },
    },
    required: ['id'],
  },
  version: '1',
  hash: READ_RESULT,
  annotations: { readOnly: true, idempotent: true, openWorld: false },
}

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

/** What a model may read: of its own conversation alone. */
export interface Readable {
  /** Returns the whole content of a result, or of notes that were put aside. */
  readonly content: (id: string) => readonly Content[] | undefined
  readonly call: (callId: string) => KnownCall | undefined
  /** Returns what the model reads of its notes; undefined if there are none under the id. */
  readonly notes: (reading: Omit<NotesReading, 'newest'>) => string | undefined
}

/** Makes the tool. `mostBytes`: the size of a part. */
export function readResultTool(readable: Readable, mostBytes: () => number): Tool {
  return {
    definition: READ_RESULT_DEFINITION,
    origin: 'inline',
    place: 'edge',
    offered: false,
    call: async ({ arguments: { id, offset, search } }) => {
      const most = Math.max(2, mostBytes() - NOTE_BYTES)
      const words = typeof search === 'string' && searchWords(search).length > 0 ? search : undefined
      const { text, marks = [] } = (typeof id === 'string' && read(readable, id, { search: words, most })) || {}
      // Nothing is left of one that is withheld.
      if (text === undefined)
        return failure('unknown_result', 'There is no such result. Give the `id` from the note about the result.')
      const part = partOf(text, typeof offset === 'number' ? Math.max(0, Math.floor(offset)) : 0, most)
      return { ok: true, content: [{ type: 'text', text: part }], ...(marks.length > 0 && { marks }) }
    },
  }
}

interface ReadText {
  readonly text: string
  readonly marks?: readonly DataMark[]
}

function read(
  readable: Readable,
  id: string,
  { search, most }: { readonly search: string | undefined; readonly most: number },
): ReadText | undefined {
  if (isNotes(id)) {
    const textOf = (notes: string) =>
      readable
        .content(notes)
        ?.map((part) => contentText([part]))
        .join('\n')
    const text = readable.notes({ id, search, most, textOf })
    if (text === undefined) return search === undefined ? undefined : { text: orNothing('') }
    return { text: search === undefined ? text : orNothing(text) }
  }
  const { text, marks } = textUnder(readable, id) ?? {}
  if (text === undefined) return undefined
  return { text: search === undefined ? text : orNothing(searchText(text, search)), ...(marks && { marks }) }
}

function orNothing(text: string): string {
  return text === '' ? 'No line has all of these words.' : text
}

/** Returns the text of a result or, by the id of a call and what is asked about it, of its arguments or its calls. */
function textUnder({ content, call }: Readable, id: string): ReadText | undefined {
  const result = content(id)
  const isInner = parentOfCall(id) !== undefined
  if (result && !isInner) return result.length > 0 ? { text: contentText(result) } : undefined
  const ownCall = call(id)
  const ofResult = result ?? ownCall?.content
  if (ofResult?.length === 0) return undefined
  if (ofResult) return { text: contentText(ofResult), ...(ownCall && { marks: ownCall.marks }) }
  const [, callId = '', about] = /^(.+)\.(arguments|calls)$/.exec(id) ?? []
  const subject = call(callId)
  if (!subject) return undefined
  const { arguments: text, calls, marks } = subject
  if (about === 'arguments') return { text, marks }
  return {
    text: calls.length > 0 ? calls.map(callLine).join('\n') : 'It made no calls that may have taken effect.',
    marks,
  }
}

/** The characters that are shown before and after a word in a long line. */
const AROUND = 200

/** Returns the lines that have all of some words, or of a long line what is around the first of them, each with its offset. */
function searchText(text: string, search: string): string {
  const has = wordMatcher(search)
  const [first = ''] = searchWords(search)
  let offset = 0
  const lines: string[] = []
  for (const line of text.split('\n')) {
    if (has(line)) {
      const at = line.length > 2 * AROUND ? Math.max(0, line.toLowerCase().indexOf(first) - AROUND) : 0
      lines.push(`offset ${offset + at}: ${line.slice(at, at + 2 * AROUND).toWellFormed()}`)
    }
    offset += line.length + 1
  }
  return lines.join('\n')
}

/** Returns whether a text has all of some words, in whichever case. */
export function wordMatcher(search: string): (text: string) => boolean {
  const words = searchWords(search)
  return (text) => {
    const lower = text.toLowerCase()
    return words.every((word) => lower.includes(word))
  }
}

export function searchWords(search: string): readonly string[] {
  return search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
}

const encoder = new TextEncoder()

/** Returns the part of a text from an offset on that has at most so many bytes. */
function partOf(text: string, offset: number, most: number): string {
  const from = characterBoundary(text, offset)
  const { read } = encoder.encodeInto(text.slice(from, from + most), new Uint8Array(most))
  const end = from + read
  const continuation = end < text.length ? `; read on from offset ${end}` : ''
  return `${text.slice(from, end)}\n[${from} to ${end} of ${text.length} characters${continuation}]`
}

/** Returns the offset, or the one before it if it would split a surrogate pair. */
function characterBoundary(text: string, offset: number): number {
  if (offset >= text.length) return text.length
  return /[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(Math.max(0, offset - 1), offset + 1)) ? offset - 1 : offset
}
