/** Extracts the topic of a question in a few words, such as `AI news`, for a search or the subject of a mail. */
import { sayable } from './payload.ts'
import type { Reading } from './read.ts'

const WHO = "(?:(?:my|our|the|your) \\w+|i|we|he|she|they|you)(?:'d)?"
/** Words before a topic that say who wants it, and how to find it. */
const BEFORE = [
  `${WHO} (?:wants?|needs?|asks?(?: for)?|would(?: like)?|likes?|am|are|is)(?: looking for| interested in)?|wants?|needs?`,
  "please|(?:can|could|would|will) you|(?:i'd )?like|to|kindly|quickly|just|also|then|and",
  '(?:tell|show|give|send|forward|mail|bring|get|fetch|find|look up)(?: (?:me|us))?|find(?: out)?|know|hear|read|see|check',
  '(?:search(?:ing)?|google|browse|look(?:ing)?)(?: (?:the )?(?:web|internet|net)| online)?|on the (?:web|internet)|online',
  "for|about|on|of|what(?:'s| is| are)|(?:are|is) there|any|some|the|an?|(?:very )?(?:latest|newest|most recent)",
].join('|')
const BEFORE_HAN =
  '请|帮[我忙]?|麻烦|我?的?朋友|我?想要?(?:知道|看看?|了解)?|要|搜索?|查[找询]?一?下?|网上|上网|最新的?|关于|有什么|今天的?'
const LEADING = new RegExp(`^(?:[\\s,;:.!?–—-]|(?:${BEFORE})(?=[\\s:,]|$)|${BEFORE_HAN})+`, 'iu')

const AFTER = "please|thanks|thank you|for me|on the (?:web|internet)|online|of|from|for|in|and|'s"
const TRAILING = new RegExp(`(?:[\\s,;:.!?。？！–—-]|\\b(?:${AFTER})(?=\\W*$)|[的吗呢吧]|有哪些|是什么)+$`, 'i')

/**
 * Returns the topic: a quoted text if there is one, else the question without its frame, or all of it if nothing is
 * left.
 */
export function topicOf(reading: Reading): string {
  if (reading.quoted[0] !== undefined) return reading.quoted[0]
  const words = sayable(reading.timeless)
  return words.replace(LEADING, '').replace(TRAILING, '') || words
}
