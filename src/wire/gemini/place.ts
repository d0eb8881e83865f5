/** What marks the opaque fields of an answer as Gemini's. */
export const CODEC = 'gemini'

/**
 * A part of an answer, in its order: a text, by its length; the next call, with the id that Gemini gave it; or a thought
 * that was signed, word for word. Texts and calls themselves are in the message. A signature must come back in the very
 * part in which it came.
 */
export interface Place {
  text?: number
  readonly call?: true
  readonly part?: Readonly<Record<string, unknown>>
  readonly id?: string
  readonly thoughtSignature?: string
}
