export interface Word {
  readonly word: string
  /** 1 or 0.5. */
  readonly weight: number
  /** Whether this is a name of several words in one piece. */
  readonly isJoined: boolean
}

/** Returns the words of a text, in lower case and without accents. */
export function textWords(text: string): readonly Word[] {
  return chunksOf(text).flatMap(wordsOf)
}

/** Returns the runs of letters and digits in a text, without accents. */
export function chunksOf(text: string): readonly string[] {
  // oxlint-disable-next-line no-control-regex
  const isPlain = !/[^\0-\x7f]/.test(text)
  return (isPlain ? text.match(PLAIN_CHUNK) : withoutAccents(text).match(CHUNK)) ?? []
}

function withoutAccents(text: string): string {
  return text.normalize('NFKD').replace(ACCENTS, '').normalize('NFKC')
}

/**
 * Returns the words of a run of letters and digits, in lower case. A name is split at case and digits, and also
 * returned in one piece as `whole` (`github` beside `git` and `hub`). Scripts without spaces give pairs of characters,
 * and single characters of Chinese. Single characters and whole names have half the weight. Numbers of one or two
 * digits are dropped: they say too little.
 */
export function wordsOf(chunk: string): readonly Word[] {
  if (chunk.charCodeAt(0) >= FIRST_DENSE && DENSE.test(chunk)) return pairsOf(chunk)
  const word = chunk.toLowerCase()
  const parts = /.[A-Z\d]/.test(chunk) ? (chunk.match(PART) ?? []) : []
  if (parts.length < 2) return word.length > 2 || !SMALL.test(word) ? [{ word, weight: 1, isJoined: false }] : []
  const words: Word[] = parts
    .filter((part) => part.length > 1 && !SMALL.test(part))
    .map((part) => ({ word: part.toLowerCase(), weight: 1, isJoined: false }))
  return [...words, { word, weight: 0.5, isJoined: true }]
}

function pairsOf(chunk: string): readonly Word[] {
  const words: Word[] = []
  for (let at = 0; at < chunk.length; at++) {
    if (at + 1 < chunk.length) words.push({ word: chunk.slice(at, at + 2), weight: 1, isJoined: false })
    const single = chunk.charAt(at)
    if (chunk.length === 1 || (single >= '\u3400' && single <= '\u9fff')) {
      words.push({ word: single, weight: 0.5, isJoined: false })
    }
  }
  return words
}

const ACCENTS = /[\u0300-\u036f]/g
/** The first character of the scripts that are read in pairs: Thai to Burmese, Khmer, kana, Han, Hangul. */
const FIRST_DENSE = 0xe00
const DENSE = /^[\u0e00-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]/
const PLAIN_CHUNK = /[A-Za-z\d]+/g
const CHUNK =
  /[a-z\d\u00aa-\u0dff\u10a0-\u16ff\u1800-\u1fff]+|[\u0e00-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]+/gi
/** Matches a part of a name: an acronym with its plural `s`, a word, or a number. */
const PART = /[A-Z]+s?(?![a-z])|[A-Z]?[a-z\u00aa-\u1fff]+|\d+/g
const SMALL = /^\d\d?$/

/** Removes the ending of an English plural or verb form: `cities` and `city` have one stem. */
export function lightStem(word: string): string {
  if (word.length < 4 || word.length > LONGEST) return word
  const singular = word.replace(/(?<=..)ies$/, 'y').replace(/(?<=ss|x|ch|sh|z)es$|(?<![sui])s$/, '')
  const verb = /^(.*[aeiouy].*?)(?:ing|ed)$/.exec(singular)?.[1] ?? ''
  const bare = verb.length > 2 ? verb.replace(/([bdfgmnprt])\1$/, '$1') : singular
  return bare.length > 4 ? bare.replace(/[eyi]$/, '') : bare
}

/** The longest word that is stemmed, in characters; longer ones are not words of a language. */
const LONGEST = 40

/** Returns the stem of a family of words: `translate`, `translation`, `translator`. Coarser than `lightStem`. */
export function deepStem(word: string): string {
  const light = lightStem(word)
  const root = /^(.{4,}?)(?:[ai]tion|ator|ativ|at|ion|or|er|ment|nes|l|anc|enc|it|al|iv|abl)$/.exec(light)?.[1]
  return root === undefined || light.length < 6 ? light : root.replace(/[eyi]$/, '')
}

/**
 * Single characters of Chinese that questions have whatever they are about: particles, pronouns, and “please help me”.
 */
const CHINESE_FILLERS =
  '的了是在我你他她它们和与或请帮要想能会可以把被给吗呢吧啊哪什么怎样个这那有一下为对从到就都也很还不'

/** Words that questions have whatever they are about. Of a tool's texts only the name is indexed by them. */
export const FILLERS: ReadonlySet<string> = new Set([
  ...CHINESE_FILLERS.split(''),
  ...(
    'a an the of to in on at by for from with and or but if is are was were be been am do does did has have had i me my we ' +
    'us our you your he she it its they them their this that these those there here what which who whom whose when where ' +
    'why how can could will would shall should may might must not no so as than then too very just also any some such ' +
    'about into over out up please help want need like know tell let get give show find hi hello hey thanks ve ll re whats'
  ).split(' '),
])
