/** Finds the free text in a request: what to be reminded of, what to search for, what a mail is to say. */
import type { Reading } from './reading.ts'
import type { Tool } from './tool.ts'
import { type Word, wordsOf } from './vocabulary.ts'

const LINK =
  /^(?:[\s\v:,-]|\b(?:me|us|please|for|to|that|about|of|on|at|an?|the|new|it'?s time to)\b|一下|我|一声|个)+/iu
const OBLIGATION = /^\W*(?:(?:please|and|hey|hi)\b\W*)*(?:i (?:need|have|want|ought|should|must)(?: to)?\b)?/i

/** Returns what is left of a request after the words that ask for it; `''` if nothing is. */
export function taskOf(tool: Tool, { prose }: Pick<Reading, 'prose'>): string {
  const isTrigger = ({ concepts, action }: Word): boolean =>
    (action !== undefined && action === tool.action) || concepts.some((concept) => (tool.topics.get(concept) ?? 0) >= 3)
  const first = wordsOf(prose).find(isTrigger)
  if (!first) return ''
  let rest = prose.slice(first.at + first.text.length).replace(LINK, '')
  // `set an alarm for`: the noun after the verb belongs to the request.
  for (let [next] = wordsOf(rest); next?.at === 0 && isTrigger(next); [next] = wordsOf(rest)) {
    rest = rest.slice(next.text.length).replace(LINK, '')
  }
  return clean(rest) || clean(prose.slice(0, first.at).replace(/\v/g, ' ').trim().replace(OBLIGATION, ''))
}

/** Returns the text that the request names for a field: `with the subject Hi`, `saying that I am late`. */
export function draftOf(field: string, { text, quotes }: Reading): string | undefined {
  const end = '(?= and (?:the |a )?(?:text|body|message|subject)\\b|[,;]|[.!?]*$)'
  const unquoted = `(?:\\b(?:with|and) (?:the |a )?${field}|\\b${field}(?: is|:|=)):? +([^"'].*?)${end}`
  const match = new RegExp(`\\b${field}\\b(?: is|:|=)? *["']([^"']+)["']|${unquoted}`, 'i').exec(text)
  if (match) return match[1] ?? match[2]
  const isBody = /\b(?:text|body|message|content)\b/.test(field) && quotes.length === 0
  return isBody ? /\b(?:saying|that says|to say)(?: that|:)? (.+?)[.!?]*$/i.exec(text)?.[1] : undefined
}

function clean(text: string): string {
  const words = text.replace(/[\v\s]+/g, ' ').replace(/^[\s,.;:-]+/, '')
  return words.replace(/(?:[\s,.!?;:]|\b(?:please|pls|thanks|at|in|on|by|for|and)\b|吧|好吗|吗)+$/iu, '')
}
