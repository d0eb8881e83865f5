/**
 * Tells a record of facts in one sentence, guided by the names of its fields and the form of their values: the subject
 * (a name, a number, a place and a day), what is said of it, and the rest as a list. Facts without meaning to a person
 * are left out: success flags, UUIDs, and fields that another field repeats.
 */
import { type Fact, marksStandIn } from './facts.ts'
import { hanName, wordsIn } from './label.ts'
import { readMoment } from './moment.ts'
import { phraseOf } from './phrase.ts'
import type { Voice } from './result.ts'
import { joinEnglish, joinHan } from './sentence.ts'
import { spokenNearDay } from './spoken.ts'
import { wordsOf } from './vocabulary.ts'

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
const ID = /^(?:\w+ )?(?:id|number|no|nr|ref|reference)$|^编号$/
const NAME = /^(?:(?:full|display|first|customer|client|guest|user) )?name$|^(?:title|姓名|名称)$/
const PLACE = /^(?:place|city|town|location|where|地点|城市)$/
const DAY_NAME = /^(?:date|day|日期)$/

/**
 * Returns the sentence without its full stop; `''` if nothing is left to say. `verdict` is the record's answer to the
 * question, as `tellVerdict` words it.
 */
export function tellRecord(facts: readonly Fact[], voice: Voice, verdict?: string): string {
  const { reading } = voice
  const said = asked(
    facts.filter((fact) => !isNoise(fact, facts)),
    voice,
  )
  const isWeather = reading.topics.has('weather')
  const named = said.find((fact) => NAME.test(nameOf(fact)) && typeof fact.value === 'string')
  // The name in a weather record is that of a place.
  const name = isWeather ? undefined : named
  const scene = name ? NO_SCENE : sceneOf(said, named, voice)
  const given = new Set(Object.values(voice.arguments).map(String))
  const isGiven = ({ value }: Fact): boolean => given.has(String(value))
  const id = said.find((fact) => ID.test(nameOf(fact)) && isGiven(fact) && !UUID.test(String(fact.value)))
  const noun = id && nounOf(id, voice)
  const number = id && noun !== undefined && !isWeather && scene.words === '' ? `${noun} ${id.value}` : ''
  const told = new Set<Fact | undefined>([name, number === '' ? undefined : id, ...scene.facts])
  const rest = said.filter((fact) => {
    // Arguments of the call need not be repeated.
    const isEcho = (ID.test(nameOf(fact)) || nameOf(fact) === 'url') && (UUID.test(String(fact.value)) || isGiven(fact))
    return !told.has(fact) && (!isEcho || said.length === 1)
  })
  const phrases = rest.flatMap((fact) => phraseOf(fact, said, { ...voice, noun }) ?? [])
  // A place and a day alone tell nothing about the weather.
  if (isWeather && phrases.length === 0 && verdict === undefined) return ''
  const subject = subjectOf(name, number, phrases.length === 0, reading.han)
  return reading.han
    ? joinHan({ subject, scene: scene.words, verdict, phrases })
    : joinEnglish({ subject, scene: scene.words, verdict, phrases })
}

/** Tells one of several records in a line, with its id, which distinguishes it from the others. */
export function tellRow(facts: readonly Fact[], voice: Voice, isOnly: boolean): string {
  const said = facts.filter((fact) => !isNoise(fact, facts))
  const isId = (fact: Fact): boolean => ID.test(nameOf(fact))
  const phrases = said.filter((fact) => !isId(fact)).flatMap((fact) => phraseOf(fact, said, voice)?.text ?? [])
  const ids = said.filter((fact) => isId(fact) && !(isOnly && UUID.test(String(fact.value))))
  const { han } = voice.reading
  const numbers = ids.map((fact) => `${(han && hanName(nameOf(fact))) || nameOf(fact)} ${fact.value}`)
  const line = [...phrases, ...numbers].join(han ? '；' : '; ')
  // After the end of a sentence no semicolon is needed.
  return line.replace(/(?<=[.!?])(?:; |；)/g, ' ').replace(/(?<=[。！？])；/g, '') || '–'
}

function nameOf({ key }: Fact): string {
  return wordsIn(key).join(' ')
}

/** Returns the facts that the question names, with the subject, or all facts if it names none. */
function asked(facts: readonly Fact[], { reading: { terms } }: Voice): readonly Fact[] {
  const isAsked = ({ key }: Fact): boolean => wordsOf(key).some(({ stem }) => terms.has(`=${stem}`))
  const isAbout = (fact: Fact): boolean => [ID, NAME, PLACE, DAY_NAME].some((kind) => kind.test(nameOf(fact)))
  return facts.some(isAsked) ? facts.filter((fact) => isAsked(fact) || isAbout(fact)) : facts
}

function isNoise(fact: Fact, facts: readonly Fact[]): boolean {
  const { value } = fact
  const name = nameOf(fact)
  // A note to the model on how to treat the content is not for people.
  if (value === '' || marksStandIn(fact) || (name === 'note' && /instruction/i.test(String(value)))) return true
  if (typeof value === 'boolean') return name === 'exact' || (value && /^(?:ok|success|succeeded|found)$/.test(name))
  const isDay = (other: Fact): boolean => /^\d{4}-\d\d-\d\d/.test(String(other.value))
  if (/^(?:weekday|day of week)$/.test(name)) return facts.some(isDay)
  if (typeof value !== 'string' || !/date|time|offset/.test(name)) return false
  const isWhole = ({ value: whole }: Fact): boolean => whole !== value && /^\d{4}-\d\d-\d\dT/.test(String(whole))
  return facts.some((other) => isWhole(other) && String(other.value).includes(value))
}

/** Returns the kind of thing that an id identifies, such as `customer`, from its name or the question, or undefined. */
function nounOf(id: Fact, { reading: { topics, text, han } }: Voice): string | undefined {
  if (topics.has('customer')) return han ? '客户' : 'customer'
  const [first, second] = wordsIn(id.key)
  if (first !== undefined && second !== undefined) return first
  if (!/^[\w-]+$/.test(String(id.value))) return undefined
  const filler = '(?:\\s+(?:with|of|the|is|id|no\\.?|nr\\.?|number|ref)\\b\\.?:?)*\\s*[#"\']?'
  const before = new RegExp(`(\\p{L}+)${filler}${id.value}(?![\\w-])`, 'iu').exec(text)?.[1]?.toLowerCase()
  // `booking` is a thing, `book` is an action.
  const isThing = wordsOf(before ?? '').every(({ empty, action }) => !empty && (!action || before?.endsWith('ing')))
  return isThing ? before : undefined
}

function subjectOf(name: Fact | undefined, number: string, isAlone: boolean, han: boolean): string {
  if (!name || number === '') return String(name?.value ?? number)
  if (isAlone) return han ? `${number} 是 ${name.value}` : `${number} is ${name.value}`
  return han ? `${name.value}（${number}）` : `${name.value} (${number})`
}

interface Scene {
  readonly words: string
  readonly facts: readonly (Fact | undefined)[]
}

const NO_SCENE: Scene = { words: '', facts: [] }

/** Returns the place and the day of a record in words, and the facts that contain them. */
function sceneOf(facts: readonly Fact[], named: Fact | undefined, { reading, arguments: values, now }: Voice): Scene {
  const { han, topics, places } = reading
  const isWeather = topics.has('weather')
  const given = new Set(Object.values(values))
  const [meant] = places.length === 1 ? places : []
  const isPlace = ({ value }: Fact): boolean => typeof value === 'string'
  const place =
    facts.find((fact) => PLACE.test(nameOf(fact)) && isPlace(fact)) ??
    (isWeather ? (named ?? facts.find(({ value }) => value === meant?.name)) : undefined)
  // In a weather record, the day that was an argument is the day, whatever the name of the field.
  const isDay = (fact: Fact): boolean => DAY_NAME.test(nameOf(fact)) || (isWeather && given.has(fact.value))
  const date = facts.find((fact) => isDay(fact) && readMoment(String(fact.value))?.isDay)
  if (!isWeather && !(place && date)) return NO_SCENE
  const where = String(place?.value ?? meant?.name ?? '')
  const moment = date && readMoment(String(date.value))
  // The day of a forecast counts as near, so it is told without its year.
  const day = moment ? spokenNearDay(moment, { han, now: now ?? (isWeather ? moment : undefined) }) : ''
  const words = han ? where + day : [where, day && `on ${day}`].filter(Boolean).join(' ')
  return { words, facts: [place, date] }
}
