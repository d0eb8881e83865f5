/** Joins phrases to a sentence: in English with the verb that they need, in Chinese as a list after a colon. */
import type { Phrase } from './phrase.ts'

export interface Parts {
  /** The person or thing that the sentence is about, or `''`. */
  readonly subject: string
  /** A place and a day, or `''`: `Oslo on Friday, 20 November`. */
  readonly scene: string
  readonly verdict?: string | undefined
  readonly phrases: readonly Phrase[]
}

/** Returns the English sentence, without its full stop. */
export function joinEnglish({ subject, scene, verdict, phrases }: Parts): string {
  const of = (kind: Phrase['kind']): readonly string[] => phrases.flatMap((one) => (one.kind === kind ? one.text : []))
  const [is, since, has, list] = [of('is'), of('since'), of('has'), of('list')]
  const rest = list.join(list.some((text) => text.includes(', ')) ? '; ' : ', ')
  if (verdict !== undefined || scene !== '') {
    const place = scene.startsWith('on ') || scene === '' ? scene : `in ${scene}`
    const head = verdict === undefined ? scene.replace(/^on /, '') : `${verdict} ${place}`.trim()
    return sentence([head, [...is, ...since, ...has, rest].filter(Boolean).join(', ')].filter(Boolean).join(': '))
  }
  if (subject === '') return sentence([[...is, ...since, ...has].join(', '), rest].filter(Boolean).join('; '))
  const withs = has.map((text) => `with ${text}`)
  const [verb, predicate] =
    is.length > 0
      ? ['is', [...is, ...since, ...withs]]
      : since.length > 0
        ? ['has been', [...since, ...withs]]
        : [has.length > 0 ? 'has' : '', has]
  const start = [subject, verb, predicate.join(', ')].filter(Boolean).join(' ')
  return sentence([start, rest].filter(Boolean).join(verb === '' ? ': ' : '; '))
}

/** Returns the Chinese sentence. A yes or no comes before the place and the day. */
export function joinHan({ subject, scene, verdict = '', phrases }: Parts): string {
  const [, yes = '', what = ''] = /^(.*，)?(.*)$/.exec(verdict) ?? []
  const list = phrases.map(({ text }) => text).join('，')
  return [`${yes}${subject}${scene}${what}`, list].filter(Boolean).join('：')
}

/** Capitalizes the first word if it is all lower-case letters; other names and addresses stay as they are. */
export function sentence(text: string): string {
  return text.replace(/^[a-z]+(?=[\s,:;]|$)/, (word) => word.charAt(0).toUpperCase() + word.slice(1))
}
