import { notesId } from '../../contract/context.ts'
import { linesOfTurn } from '../window/lines.ts'
import type { ContextPlanner, NotesWriter } from '../window/planner.ts'
import { countOf, learnCount } from './count.ts'
import { fitAfterRefusal, fitPrompt, isCutByWindow, measureEstimate, roomForResult, roomLeft } from './fit.ts'
import { pointerTo, readNotes, readPointer, searchNotes, showNotes } from './notes.ts'
import { groupTurns, visibleMessages } from './plan.ts'
import { outlineOf } from './shorten.ts'

const notes: NotesWriter = {
  outline: outlineOf,
  write: (messages, isReadOnly) => {
    const lines = groupTurns(messages).flatMap((turn) => linesOfTurn(turn, isReadOnly))
    return lines.length > 0 ? lines.join('\n') : undefined
  },
  point: (earlier, position) => {
    const lines = earlier?.split('\n').filter((line) => readPointer(line) === undefined) ?? []
    return [...lines, pointerTo(notesId(position))].join('\n')
  },
  idIn: readPointer,
  read: ({ id, newest, search, most, textOf }) => {
    const lines = readNotes(newest, textOf)
    return search === undefined ? showNotes(lines, id, most) : searchNotes(lines, search)
  },
}

/**
 * Reduces the prompts of long conversations in steps, so that they fit the windows of models: what does not fit becomes
 * lines and notes, which the model can read in full. It learns how a model counts, and how large its window is.
 */
export const contextPlanner: ContextPlanner = {
  visible: visibleMessages,
  fit: fitPrompt,
  fitAfterRefusal,
  isCutByWindow,
  count: countOf,
  learn: learnCount,
  room: measureEstimate,
  roomLeft,
  roomForResult,
  notes,
}
