/**
 * Recognizes requests to send something to somebody by mail, and separates the words about sending from the rest. The
 * rest may be a question whose answer is to be sent: `mail the weather in Oslo to …`, `把AI新闻发给…`.
 */

/** The regular expression source of a mail address. */
export const ADDRESS = '[\\w.+-]+@[\\w-]+\\.[\\w.-]*\\w'

const TO = '(?:(?:my|our|the|his|her) (?:[a-z]+ )?[a-z]+|him|her|them)'
/** Verbs of sending, and nouns in the position of a verb. */
const VERB =
  '\\b(?:send|forward)\\b|' +
  "(?:^|(?<=[.,;:!?] ?|\\b(?:please|and|then|also|you|to|should|must|i'll|just) ))(?:e-?mail|mail|write|message)\\b|" +
  '发[送给到]?|寄给?|转发|(?<=用)邮件'
const SENDS = new RegExp(VERB, 'i')
/** A recipient without an address. */
const TO_SOMEBODY = new RegExp(
  `\\b(?:send|forward|mail)\\b[^.;!?]* to ${TO}(?= *(?:$|[.,;!?]|and\\b|by\\b|via\\b|please\\b))|` +
    '发(?:送)?给(?!我)\\p{Script=Han}{2,4}\\s*$',
  'iu',
)

/** Tells whether a text asks to send something, to one of the addresses in it or to a person without an address. */
export function isSending(text: string, addresses: readonly string[]): boolean {
  const isAddressed = SENDS.test(text) && addresses.some((address) => text.includes(address))
  return isAddressed || TO_SOMEBODY.test(text)
}

const DIGEST =
  '(?:(?:an?|the|some|my|one) )?(?:(?:short|brief|quick|little|small) )*' +
  '(?:summary|digest|overview|round-?up|list|copy|report|note|message|e-?mail|mail)\\b' +
  '(?: (?:of|about|on|with|containing)\\b)?'
const WITHOUT = [
  new RegExp(`(?:\\b(?:to|at) )?(?:${TO} ?)?[(<,]? ?${ADDRESS}[)>]?(?:(?:, ?| )(?:and )?(?:to )?${ADDRESS})*`, 'gi'),
  new RegExp(`\\bto ${TO}(?= *(?:$|[.,;!?]))`, 'gi'),
  new RegExp(VERB, 'gi'),
  new RegExp(`\\b${DIGEST}`, 'gi'),
  /的?(?:摘要|总结|概要|汇总|邮件)|(?<=^|[,;。请我] ?)[把将给]|[给到用]\s*$/g,
]
const ELSEWHERE = /\b(?:it|that|this|them|those|both|summary|digest|overview|results?|answers?)\b|[它这那]|摘要|总结/i
const RESULTS = '(?:the|its|their) (?:results?|answers?)|what(?:ever)? you (?:find|found)(?: out)?'
/** A pronoun or phrase at the end of a text that refers to something said elsewhere. */
const POINTER = new RegExp(`(?:(?:^|[ ,])(?:it|that|this|them|those|both|${RESULTS})|[它这那])$`, 'i')
const LOOSE_END =
  /(?:[\s\v,;:.!?。]|(?:^|[ ,])(?:and|then|also|please|too|as well|thanks|thank you|now)(?=[\s,;.!?]*$))+$/i

/** Tells whether a text asks to send something said elsewhere: `send it to …`, `mail a summary to …`. */
export function pointsElsewhere(text: string): boolean {
  return leftToSay(text) === '' && ELSEWHERE.test(text)
}

/** Returns a request to send something without the words about sending. */
export function leftToSay(text: string): string {
  const rest = WITHOUT.reduce((left, pattern) => left.replace(pattern, ' '), text).replace(/\s+/g, ' ')
  return rest.replace(LOOSE_END, '').replace(POINTER, '').replace(LOOSE_END, '').trim()
}
