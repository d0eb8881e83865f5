import { READ_RESULT } from '../../contract/tool.ts'
import { wordMatcher } from '../decide/truncated-result.ts'
import { CALL, INNER_CALL } from '../window/lines.ts'

/** Returns the last line of notes: where they are read in full, with those before them. */
export function pointerTo(id: string): string {
  return `- (${READ_RESULT} reads these notes in full, and all older ones, with the id "${id}")`
}

/** Such a line. Earlier versions wrote it in other words, and first. */
const POINTER = /^- \([^\n]*\bid "(notes_\d+)"[^\n]*\)$/

/** Returns the id of the notes that notes name; undefined if they name none. */
export function readPointer(notes: string): string | undefined {
  return new RegExp(POINTER, 'm').exec(notes)?.[1]
}

/** A line of the notes on a conversation. */
interface NoteLine {
  /** The number of the turn that it tells of, from 1. */
  readonly turn: number
  readonly text: string
  readonly bytes: number
}

/** How a line begins that tells of what a user has asked, which begins a turn; any other turn continues. */
const NEW_TURN = /^- user: /
/** An effect in full notes, and in notes of an earlier version, which have a line for each turn. */
const EFFECT = new RegExp(`^ {2}(?:${CALL}|${INNER_CALL}(?:[\\w-]+(?: > [\\w-]+)*: )?)([\\w-]+)(?:\\(| ×(\\d+)$)`)
const EFFECTS = new RegExp(`(?:^- |; )${CALL}([\\w-]+)\\(`, 'g')
const QUOTED = /"(?:[^"\\]|\\.)*"/g

const encoder = new TextEncoder()

/**
 * Reads all notes on a conversation, the oldest first. Those of each reduction name those of the one before. `textOf`
 * returns the text of notes by their id.
 */
export function readNotes(newest: string, textOf: (id: string) => string | undefined): readonly NoteLine[] {
  const texts: string[] = []
  const visited = new Set<string>()
  for (let id: string | undefined = newest; id !== undefined && !visited.has(id);) {
    visited.add(id)
    const text = textOf(id) ?? ''
    id = readPointer(text)
    texts.unshift(text)
  }
  let turn = 0
  return texts.flatMap((text) =>
    text.split('\n').flatMap((line) => {
      if (POINTER.test(line)) return []
      if (NEW_TURN.test(line) || turn === 0) turn += 1
      return [{ turn, text: line, bytes: encoder.encode(line).byteLength + 1 }]
    }),
  )
}

/** What an index entry takes beside the names of its tools, in bytes, and the most tools that it names. */
const ENTRY_BYTES = 140
const MOST_TOOLS = 6
/** The part of an answer that lines may fill: the number of a turn is added to some. */
const FULL = 0.9
/** What an index needs more room for each time that it is found to be too long. */
const WIDER = 1.4

/**
 * Returns the notes under an id as text of at most so many bytes: `notes_7` all of them, `notes_7.3-90` those lines. If
 * they are longer, returns an index of them by turn and tool, whose entries name the ids of shorter parts.
 */
export function showNotes(all: readonly NoteLine[], id: string, most: number): string | undefined {
  const [, base = '', from = '1', to = String(all.length)] = /^(notes_\d+)(?:\.(\d+)-(\d+))?$/.exec(id) ?? []
  const first = Math.max(1, Number(from))
  const lines = all.slice(first - 1, Number(to))
  if (lines.length === 0) return undefined
  const bytes = sum(lines)
  if (bytes <= most * FULL || lines.length === 1) return lines.map(numbered).join('\n')
  for (let part = Math.max(most * FULL, (bytes * ENTRY_BYTES) / most); ; part *= WIDER) {
    const entries = partsOf(lines, part).map(({ start, lines: ofPart }) => {
      const range = `${base}.${first + start}-${first + start + ofPart.length - 1}`
      return `- ${turnsOf(ofPart)}: ${toolsOf(ofPart)} (id "${range}")`
    })
    const index = [`[Notes on ${turnsOf(lines)}, in ${entries.length} parts. ${HOW}]`, ...entries].join('\n')
    if (entries.length <= 2 || encoder.encode(index).byteLength <= most) return index
  }
}

const HOW = `${READ_RESULT} reads each by its id, and with \`search\` the lines of all that have certain words.`

/** Divides lines into parts of at most so many bytes. */
function partsOf(lines: readonly NoteLine[], most: number): { start: number; lines: NoteLine[] }[] {
  const parts: { start: number; lines: NoteLine[] }[] = []
  let room = 0
  for (const [start, line] of lines.entries()) {
    if (line.bytes > room) {
      parts.push({ start, lines: [] })
      room = most
    }
    parts.at(-1)?.lines.push(line)
    room -= line.bytes
  }
  return parts
}

/** Returns the lines that have all of some words, each with the number of its turn. */
export function searchNotes(lines: readonly NoteLine[], search: string): string {
  const has = wordMatcher(search)
  return lines
    .flatMap(({ turn, text }) => (has(text) ? [`turn ${turn}: ${text.replace(/^[- ]+/, '')}`] : []))
    .join('\n')
}

function numbered({ turn, text }: NoteLine, index: number): string {
  if (NEW_TURN.test(text)) return `- turn ${turn}: ${text.slice(2)}`
  return index === 0 ? `- turn ${turn} continued: ${text.replace(/^[- ]+/, '')}` : text
}

function turnsOf(lines: readonly NoteLine[]): string {
  const [first = 0, last = 0] = [lines[0]?.turn, lines.at(-1)?.turn]
  return first === last ? `turn ${first}` : `turns ${first} to ${last}`
}

/** Returns which tools were called in some turns, and how often. */
function toolsOf(lines: readonly NoteLine[]): string {
  const counts = new Map<string, number>()
  const count = (tool: string, times = 1) => void counts.set(tool, (counts.get(tool) ?? 0) + times)
  for (const { text } of lines) {
    const [, tool, times] = EFFECT.exec(text) ?? []
    if (tool !== undefined) count(tool, Number(times ?? 1))
    // What is quoted may look like a call.
    else for (const [, other = ''] of text.replaceAll(QUOTED, '""').matchAll(EFFECTS)) count(other)
  }
  if (counts.size === 0) return 'no calls with effects'
  const tools = [...counts].sort(([, one], [, other]) => other - one).map(([tool, times]) => `${tool} ×${times}`)
  const rest = tools.length > MOST_TOOLS ? ` and ${tools.length - MOST_TOOLS} more tools` : ''
  return tools.slice(0, MOST_TOOLS).join(', ') + rest
}

function sum(lines: readonly NoteLine[]): number {
  return lines.reduce((total, { bytes }) => total + bytes, 0)
}
