/** The label of the opaque data of Gemini's answers. */
export const GEMINI = 'gemini'

/**
 * A part of an answer. The parts are kept in order: a text as its length, the next call with the id that Gemini gave
 * it, a signed thought as it came. The texts and calls themselves are in the message. A signature must go back in the
 * same part in which it came.
 */
export interface PartPlace {
  text?: number
  readonly call?: true
  readonly part?: Readonly<Record<string, unknown>>
  readonly id?: string
  readonly thoughtSignature?: string
}
