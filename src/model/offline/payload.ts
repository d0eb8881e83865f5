/**
 * The free text that a message hands to a tool: what is quoted, else what follows “remind me to”, “提醒我”, “saying”,
 * else what is left when the time and the words that address the tool are taken off both ends.
 */
import { type Reading, TELL } from './read.ts'
import { HAN } from './text.ts'
import { resolvePhrases, type Word, wordsOf } from './vocabulary.ts'

const NAME = '(?:message|text|label|title|note)'
const SAYING = new RegExp(
  `(?:\\b(?:saying|says|label+ed|titled|called|named|with (?:the |a )?${NAME}|${NAME}(?: is|:))|` +
    '(?<=@[\\w.-]+ )(?:that|to say(?: that)?)|(?=:\\s)(?<=@[\\w.-]+)(?<!\\b(?:summary|digest|overview)\\b.*))[\\s:]+(.+)',
  'is',
)
const LEADING = new RegExp(
  '^(?:[\\s,;:.!?–—-]|' +
    "(?:(?:so )?(?:that )?i (?:can|should|must|(?:need|have|want|remember) to)|(?:it's )?time to|" +
    'remind me to|so(?: that)?|' +
    'that|about|for me|to|for|of|with|and|then|please)(?=\\s|$)|' +
    '[在吧要该]|去(?!\\p{Script=Han}))+',
  'iu',
)
const TRAILING = new RegExp(
  '(?:[\\s,;:.!?–—。-]|' +
    '(?:^|[\\s,])(?:please|thanks|thank you|ok|(?:will|would|could|can) you|and|then|at|in|for|on|after)(?=\\W*$)|' +
    '[吧了]|好吗|谢谢|一下|一声)+$',
  'i',
)

/** Whether a message words the text itself. */
export function isWorded({ quoted, timeless }: Reading): boolean {
  return quoted.length > 0 || SAYING.test(timeless)
}

/** Whether a text hands the words of a mail over, so that what follows it belongs to them. */
export function isDictating(text: string): boolean {
  return text.includes('@') && SAYING.test(`${text} …`)
}

/** A text without the marks of what was taken out of it. */
export function sayable(text: string): string {
  return text.replace(/[\s\v\f]+/g, ' ').trim()
}

/** The text, or `''`. `addresses` tells the words that speak of the tool itself. */
export function payloadOf({ quoted, timeless }: Reading, addresses: (word: Word) => boolean): string {
  if (quoted[0] !== undefined) return quoted[0]
  const told = tidy(SAYING.exec(timeless)?.[1] ?? timeless.slice(TELL.exec(timeless)?.[0].length ?? Infinity))
  if (told !== '') return told
  const isFrame = (word: Word): boolean => word.empty || word.action !== undefined || addresses(word)
  return resolvePhrases(timeless)
    .replace(/\b[\w']+ me(?: up)?(?=\s*(?:[\v,;:.!?]|$))/gi, '')
    .split(/\v+|[,;:!?。]+|\.(?=\s|$)| [–—-] /)
    .map((chunk) => tidy(strip(chunk.trim(), isFrame)))
    .filter(Boolean)
    .join(', ')
}

function tidy(text: string): string {
  return text.replace(/\s+/g, ' ').replace(LEADING, '').replace(TRAILING, '').trim()
}

/** A stretch of text without the words at both ends that are about something else. */
function strip(chunk: string, isFrame: (word: Word) => boolean): string {
  const isHan = HAN.test(chunk)
  const words = isHan ? wordsOf(chunk).map(({ text }) => text) : chunk.split(' ')
  const isOff = (word = ''): boolean => wordsOf(word).every(isFrame)
  while (words.length > 0 && isOff(words.at(-1))) words.pop()
  while (words.length > 0 && isOff(words[0])) {
    // “I have to take out the bin”: behind `to` the words are the text's own.
    if (words.shift()?.toLowerCase() === 'to') break
  }
  return words.join(isHan ? '' : ' ')
}
