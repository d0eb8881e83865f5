/** Words one field of a record as a phrase of a sentence. */
import type { Fact } from './facts.ts'
import { hanName, labelled, shown, wordsIn } from './label.ts'
import { tellMeasure } from './measure.ts'
import type { Voice } from './result.ts'
import { isSky, tellSky } from './sky.ts'
import { spokenText } from './spoken.ts'

export interface Phrase {
  readonly text: string
  /** Whether the phrase follows `is`, `has been` or `has`, or is part of a list. In Chinese all are in the list. */
  readonly kind: 'is' | 'since' | 'has' | 'list'
}

interface Speaker extends Voice {
  /** The kind of thing that the record describes, such as `customer`. */
  readonly noun?: string | undefined
}

/** Returns the phrase, or undefined if the phrase of another fact includes this one. */
export function phraseOf(fact: Fact, facts: readonly Fact[], speaker: Speaker): Phrase | undefined {
  const { han } = speaker.reading
  const measured = tellMeasure(fact, facts, han)
  if (measured === '') return undefined
  if (measured !== undefined) return { text: measured, kind: 'list' }
  const name = wordsIn(fact.key).join(' ')
  return han ? { text: inChinese(name, fact, speaker), kind: 'list' } : inEnglish(name, fact, speaker)
}

/** Names of fields whose values need no label. */
const SPEAKS_FOR_ITSELF =
  /^(?:e ?mail|url|link|website|phone|time|when|date|date time|day|message|text|note|summary|snippet|name|title)$/

function inEnglish(name: string, { key, value }: Fact, { noun, now }: Speaker): Phrase {
  if (typeof value === 'boolean') return { text: tellBoolean(name, value), kind: 'list' }
  if (typeof value === 'number') return tellNumber(name, value, shown(key))
  const said = spokenText(value, { han: false, now })
  if (isSky(key)) return { text: tellSky(value, false), kind: 'list' }
  if (/^(?:company|firm|employer|organi[sz]ation)$/.test(name)) return { text: `at ${value}`, kind: 'is' }
  if (/^(?:plan|tier|subscription)$/.test(name) && /^[\w-]+$/.test(value))
    return { text: `on the ${value} ${name}`, kind: 'is' }
  if (/^(?:state|status)$/.test(name) && /^[a-z]+$/i.test(value)) return { text: value, kind: 'is' }
  if (said !== value) {
    const since = /^(?:(\w+) )?since$/.exec(name)
    const what = since?.[1] ?? noun
    if (since && what !== undefined) {
      return { text: `${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what} since ${said}`, kind: 'since' }
    }
    const done = /^(\w+) (?:at|on)$/.exec(name)?.[1]
    if (done !== undefined) return { text: `${done} ${/^\d\d:/.test(said) ? 'at' : 'on'} ${said}`, kind: 'is' }
  }
  return { text: SPEAKS_FOR_ITSELF.test(name) ? said : labelled(shown(key), said, false), kind: 'list' }
}

function inChinese(name: string, { key, value }: Fact, { noun, now }: Speaker): string {
  if (typeof value === 'boolean') return labelled(name, value ? '是' : '否', true)
  if (typeof value === 'number') {
    return isCount(name, value) && hanName(name) !== undefined
      ? `${hanName(name)}${value}个`
      : labelled(name, String(value), true)
  }
  if (isSky(key)) return tellSky(value, true)
  const said = spokenText(value, { han: true, now })
  if (/^(?:member |customer )?since$/.test(name) && said !== value)
    return `自${said}起${noun === undefined ? '' : `为${noun}`}`
  return /^(?:time|when|date|date time|day|message|text|note|snippet|url|name|title)$/.test(name)
    ? said
    : labelled(name, said, true)
}

/** Formats a boolean: `delivered`, `not delivered`, `gift wrapped: no`. */
function tellBoolean(name: string, value: boolean): string {
  const adjective = /^(?:is )?(\w+(?:ed|ble|ive))$/.exec(name)?.[1]
  if (adjective !== undefined) return value ? adjective : `not ${adjective}`
  return labelled(name, value ? 'yes' : 'no', false)
}

/** Formats a count of things as `3 open orders`, any other number as `price: 3`. */
function tellNumber(name: string, value: number, label: string): Phrase {
  if (!isCount(name, value)) return { text: labelled(label, String(value), false), kind: 'list' }
  return { text: `${value === 0 ? 'no' : value} ${value === 1 ? singular(name) : name}`, kind: 'has' }
}

function isCount(name: string, value: number): boolean {
  return Number.isInteger(value) && value >= 0 && /[a-z][^siu]s$/.test(name)
}

/** Returns the singular of a plural name. */
export function singular(name: string): string {
  return name
    .replace(/ies$/, 'y')
    .replace(/(?<=ch|sh|x)es$/, '')
    .replace(/(?<=[^s])s$/, '')
}
