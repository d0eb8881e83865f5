/** What marks the opaque fields of an answer as Anthropic's. */
export const CODEC = 'anthropic'

/**
 * A block of an answer, in its order: one of thinking, word for word; a text, by its length; or the next call, as null.
 * Texts and calls themselves are in the message.
 */
export type Place = Readonly<Record<string, unknown>> | number | null
