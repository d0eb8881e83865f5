/**
 * Calls `visit` for each word of a text, in lower case and without accents. Names are split at case, digits and any
 * punctuation; `whole` marks such a name in one piece (`github` beside `git` and `hub`). Scripts that are written without
 * spaces give pairs of characters, and single Chinese ones; these and whole names have half the weight. Numbers below
 * 100 say too little.
 */
export function eachWord(text: string, visit: (word: string, weight: number, whole: boolean) => void): void {
  // oxlint-disable-next-line no-control-regex
  const plain = /[^\0-\x7f]/.test(text) ? text.normalize('NFKD').replace(ACCENTS, '').normalize('NFKC') : text
  for (const chunk of plain.match(CHUNK) ?? []) {
    if (chunk.charCodeAt(0) >= FIRST_DENSE && DENSE.test(chunk)) {
      eachPair(chunk, visit)
      continue
    }
    const word = chunk.toLowerCase()
    const parts = /.[A-Z\d]/.test(chunk) ? (chunk.match(PART) ?? []) : []
    if (parts.length < 2) {
      if (word.length > 2 || !SMALL.test(word)) visit(word, 1, false)
      continue
    }
    for (const part of parts) if (part.length > 1 && !SMALL.test(part)) visit(part.toLowerCase(), 1, false)
    visit(word, 0.5, true)
  }
}

function eachPair(chunk: string, visit: (word: string, weight: number, whole: boolean) => void): void {
  for (let at = 0; at < chunk.length; at++) {
    if (at + 1 < chunk.length) visit(chunk.slice(at, at + 2), 1, false)
    const single = chunk.charAt(at)
    if (chunk.length === 1 || (single >= '\u3400' && single <= '\u9fff')) visit(single, 0.5, false)
  }
}

const ACCENTS = /[\u0300-\u036f]/g
/** Thai to Burmese, Khmer, kana, Han, Hangul. */
const FIRST_DENSE = 0xe00
const DENSE = /^[\u0e00-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]/
const CHUNK =
  /[a-z\d\u00aa-\u0dff\u10a0-\u16ff\u1800-\u1fff]+|[\u0e00-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]+/gi
/** An acronym with its plural `s`, a word, a number. */
const PART = /[A-Z]+s?(?![a-z])|[A-Z]?[a-z\u00aa-\u1fff]+|\d+/g
const SMALL = /^\d\d?$/

/** The word without the ending of an English plural or verb form: `cities` and `city` share theirs. */
export function lightStem(word: string): string {
  if (word.length < 4 || word.length > LONGEST) return word
  const singular = word.replace(/(?<=..)ies$/, 'y').replace(/(?<=ss|x|ch|sh|z)es$|(?<![sui])s$/, '')
  const verb = /^(.*[aeiouy].*?)(?:ing|ed)$/.exec(singular)?.[1] ?? ''
  const bare = verb.length > 2 ? verb.replace(/([bdfgmnprt])\1$/, '$1') : singular
  return bare.length > 4 ? bare.replace(/[eyi]$/, '') : bare
}

/** No word that people write has more characters. */
const LONGEST = 40

/** What words of one family share: `translate`, `translation`, `translator`. Coarser than `lightStem`. */
export function deepStem(word: string): string {
  const light = lightStem(word)
  const root = /^(.{4,}?)(?:[ai]tion|ator|ativ|at|ion|or|er|ment|nes|l|anc|enc|it|al|iv|abl)$/.exec(light)?.[1]
  return root === undefined || light.length < 6 ? light : root.replace(/[eyi]$/, '')
}

/** What a question is made of whatever it is about; only a name may be searched by these. */
export const FILLERS: ReadonlySet<string> = new Set(
  (
    'a an the of to in on at by for from with and or but if is are was were be been am do does did has have had i me my we ' +
    'us our you your he she it its they them their this that these those there here what which who whom whose when where ' +
    'why how can could will would shall should may might must not no so as than then too very just also any some such ' +
    'about into over out up please help want need like know tell let get give show find hi hello hey thanks ve ll re whats'
  ).split(' '),
)
