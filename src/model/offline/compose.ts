/**
 * Composes texts for a tool's fields: the text that the message gives a field by name, the text that it contains, the
 * answers of other calls, or the topic in a few words.
 */
import type { Field } from './field.ts'
import { isWorded, payloadOf } from './payload.ts'
import type { Profile } from './profile.ts'
import type { Reading } from './read.ts'
import { isHeadline } from './sent.ts'
import { topicOf } from './topic.ts'

/** A tool, and the message that asks for it. */
export interface Wish {
  readonly profile: Profile
  readonly reading: Reading
  /** The content to send, if the message itself does not contain it. */
  readonly content?: Content | undefined
}

/** A text and its headline. */
export interface Content {
  readonly headline: string
  readonly text: string
}

/** Composes the answers to these questions to the content of a mail; returns undefined without questions. */
export function contentOf(questions: readonly Reading[], answers: readonly string[]): Content | undefined {
  const [first] = questions
  return first && { headline: headlineOf(topicOf(first)), text: answers.join('\n\n') }
}

/** Returns the text for a field, or undefined if the message has none. */
export function textOf({ name, required }: Field, wish: Wish): string | undefined {
  const { reading, profile, content } = wish
  const isAbove = profile.sends && isHeadline(name)
  const named = namedIn(reading.text, name, isAbove)
  if (named !== undefined) return named
  if (profile.sends && content) return isAbove ? content.headline : content.text
  // The rest of a request to send something is not the text to send.
  if (profile.sends && !isWorded(reading)) return undefined
  if (/^(?:q|query|search|keywords?)$/i.test(name)) return topicOf(reading) || undefined
  const isWanted = required || profile.reminds || reading.quoted.length > 0
  const left = isWanted ? leftOf(wish) : ''
  return (isAbove ? headlineOf(left) : left) || undefined
}

/** Returns the message without the words that address the tool. */
export function leftOf({ reading, profile: { terms } }: Wish): string {
  return payloadOf(reading, ({ stem, senses }) =>
    [`=${stem}`, ...senses.map(([concept]) => concept)].some((term) => (terms.get(term) ?? 0) > 0.5),
  )
}

/**
 * Finds a text given by the field's name: `the subject "Hi"`. A headline needs no quotes: it ends at the next clause.
 */
function namedIn(text: string, name: string, isAbove: boolean): string | undefined {
  if (!/^[a-z]+$/i.test(name)) return undefined
  const bare = isAbove ? '|((?!")[^",;]+?)(?=\\s+(?:and|with)\\b|[",;]|\\.?\\s*$)' : ''
  const [, quoted, words] = new RegExp(`\\b${name}(?: line)?(?: is| of|:)? +(?:"([^"]+)"${bare})`, 'i').exec(text) ?? []
  return quoted ?? words
}

const MOST_HEADLINE = 80

/** Returns the first sentence of a text, shortened if it is long. */
function headlineOf(text: string): string {
  const [first = ''] = text.split(/(?<=[.!?])\s|\n|(?<=[。！？])/)
  const line = first.replace(/[.。]$/, '').trim()
  return line.length > MOST_HEADLINE ? `${line.slice(0, MOST_HEADLINE).replace(/\s+\S*$/, '')} …` : line
}
