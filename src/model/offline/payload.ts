/**
 * Extracts the free text that a message gives to a tool: the quoted text, else the text after “remind me to”, “提醒我” or
 * “saying”, else the message without its time and without the words at both ends that address the tool.
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

/** Tells whether a message itself contains the text for the tool, quoted or after “saying”. */
export function isWorded({ quoted, timeless }: Reading): boolean {
  return quoted.length > 0 || SAYING.test(timeless)
}

/** Tells whether a text introduces the words of a mail, so that what follows belongs to the mail. */
export function isDictating(text: string): boolean {
  return text.includes('@') && SAYING.test(`${text} …`)
}

/** Removes the control characters that stand for masked parts of a text. */
export function sayable(text: string): string {
  return text.replace(/[\s\v\f]+/g, ' ').trim()
}

/** Returns the text, or `''`. `addresses` tells whether a word is about the tool itself. */
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

/** Removes the words of the frame at both ends of a chunk. */
function strip(chunk: string, isFrame: (word: Word) => boolean): string {
  const isHan = HAN.test(chunk)
  const words = isHan ? wordsOf(chunk).map(({ text }) => text) : chunk.split(' ')
  const isOff = (word = ''): boolean => wordsOf(word).every(isFrame)
  while (words.length > 0 && isOff(words.at(-1))) words.pop()
  while (words.length > 0 && isOff(words[0])) {
    // “I have to take out the bin”: the words after `to` belong to the text.
    if (words.shift()?.toLowerCase() === 'to') break
  }
  return words.join(isHan ? '' : ' ')
}
