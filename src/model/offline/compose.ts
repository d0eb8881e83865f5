/**
 * Texts for a tool: what a message gives a field by its name, what it words itself, what others answered to it, or in a
 * few words what it is about.
 */
import type { Field } from './field.ts'
import { isWorded, payloadOf } from './payload.ts'
import type { Profile } from './profile.ts'
import type { Reading } from './read.ts'
import { isHeadline } from './sent.ts'
import { topicOf } from './topic.ts'

/** A tool, and the message that wants it. */
export interface Wish {
  readonly profile: Profile
  readonly reading: Reading
  /** What a tool that sends is to send, where the message does not word it. */
  readonly content?: Content | undefined
}

/** A text, and the line above it. */
export interface Content {
  readonly headline: string
  readonly text: string
}

/** What these questions were answered, to be sent; undefined for none. */
export function contentOf(questions: readonly Reading[], answers: readonly string[]): Content | undefined {
  const [first] = questions
  return first && { headline: headlineOf(topicOf(first)), text: answers.join('\n\n') }
}

/** The text for a field, or undefined where the message has none. */
export function textOf({ name, required }: Field, wish: Wish): string | undefined {
  const { reading, profile, content } = wish
  const isAbove = profile.sends && isHeadline(name)
  const named = namedIn(reading.text, name, isAbove)
  if (named !== undefined) return named
  if (profile.sends && content) return isAbove ? content.headline : content.text
  // What is left of a wish to send something is no text to send.
  if (profile.sends && !isWorded(reading)) return undefined
  if (/^(?:q|query|search|keywords?)$/i.test(name)) return topicOf(reading) || undefined
  const isWanted = required || profile.reminds || reading.quoted.length > 0
  const left = isWanted ? leftOf(wish) : ''
  return (isAbove ? headlineOf(left) : left) || undefined
}

/** What is left of a message without the words that address the tool. */
export function leftOf({ reading, profile: { terms } }: Wish): string {
  return payloadOf(reading, ({ stem, senses }) =>
    [`=${stem}`, ...senses.map(([concept]) => concept)].some((term) => (terms.get(term) ?? 0) > 0.5),
  )
}

/** `the subject "Hi"`; the line above a text needs no quotes: it ends where the next thing is named. */
function namedIn(text: string, name: string, isAbove: boolean): string | undefined {
  if (!/^[a-z]+$/i.test(name)) return undefined
  const bare = isAbove ? '|((?!")[^",;]+?)(?=\\s+(?:and|with)\\b|[",;]|\\.?\\s*$)' : ''
  const [, quoted, words] = new RegExp(`\\b${name}(?: line)?(?: is| of|:)? +(?:"([^"]+)"${bare})`, 'i').exec(text) ?? []
  return quoted ?? words
}

const MOST_HEADLINE = 80

/** The first sentence of a text, cut where it is long. */
function headlineOf(text: string): string {
  const [first = ''] = text.split(/(?<=[.!?])\s|\n|(?<=[。！？])/)
  const line = first.replace(/[.。]$/, '').trim()
  return line.length > MOST_HEADLINE ? `${line.slice(0, MOST_HEADLINE).replace(/\s+\S*$/, '')} …` : line
}
