import type { Message } from './message.ts'

/** A message with its place in the conversation, or in the run if that is not stored. Positions rise. */
export interface PlacedMessage {
  readonly position: number
  readonly message: Message
}

/**
 * How the messages of a conversation were reduced so that they fit the context window of a model. It holds until the next
 * reduction: what a model is sent follows from it and the messages alone.
 */
export interface ContextReduction {
  /** Earlier messages are left out, except for system messages and what `turn` includes. */
  readonly from: number
  /** Set if `from` is within a turn: the input of that turn, from this position on, is still shown. */
  readonly turn?: number
  /** Notes on the messages that are left out, a line for each turn. */
  readonly notes?: string
  /** A summary of the messages that are left out, in the words of a model. */
  readonly summary?: string
  /** Results before this position are shown as one line. */
  readonly results: number
  /** Files, reasoning and the data of providers before this position are left out. */
  readonly files: number
  /** The most characters of a result, and of the arguments of a call, that are shown. Default: all of them. */
  readonly characters?: number
  /** The tools that the step offered, if they were not all tools of the run: what was left out may have found them. */
  readonly tools?: readonly string[]
  /** The model for which it was reduced, as `provider/name`. */
  readonly model: string
  /** The context window in tokens, if the provider's refusal told it. */
  readonly contextTokens?: number
}

/** What the answers and refusals of a model have told, in a conversation, of its count of tokens and its window. */
export interface TokenCount {
  /** The model's count of text over the estimate. */
  factor?: number
  /** The same of what the last turn or step has added, which is often of another kind than the tools and instructions. */
  growth?: number
  /** The model's count of an image or a file. */
  fileTokens?: number
  /** What came with the first files, as long as it is not known how much of it was text. */
  firstFiles?: CountedPrompt
  /** The last prompt that was counted; absent after a reduction, when the next prompt does not begin with it. */
  last?: CountedPrompt
  /** The context window, if a refusal or a cut prompt has told one. */
  contextTokens?: number
}

/** The size of a prompt, and what its model counted. */
export interface CountedPrompt extends PromptSize {
  readonly counted: number
}

export interface PromptSize {
  /** The estimated tokens of all texts, tools and schemas. */
  readonly text: number
  /** The number of images and files. */
  readonly files: number
}

/** What the ids of notes begin with that are put aside. No id of a call does. */
const NOTES = 'notes_'

/** Whether an id is that of notes, without which the model would not know what it has done. */
export function isNotes(id: string): boolean {
  return id.startsWith(NOTES)
}

/** Returns the id of the notes on what a reduction leaves out: all messages before a position. */
export function notesId(from: number): string {
  return `${NOTES}${from}`
}

/** Returns the position that the id of notes names; undefined if it is no such id. */
export function positionOfNotes(id: string): number | undefined {
  const [, position] = /^notes_(\d+)$/.exec(id) ?? []
  return position === undefined ? undefined : Number(position)
}
