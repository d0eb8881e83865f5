/** The label of the opaque data of Anthropic's answers. */
export const ANTHROPIC = 'anthropic'

/**
 * A block of an answer. The blocks are kept in order: thinking as it came, a text as its length, the next call as null.
 * The texts and calls themselves are in the message.
 */
export type BlockPlace = Readonly<Record<string, unknown>> | number | null
