/**
 * Tells whether it rains, snows or is sunny, if the question asks for that and the result says it, with a yes or no in
 * front if the question wants one. To a question whether it stays dry, the answer is yes if rain is not likely.
 */
import type { Fact } from './facts.ts'
import { percentOf } from './measure.ts'
import type { Reading } from './read.ts'
import { isSky } from './sky.ts'

interface Sight {
  /** Matches a question about it. */
  readonly asked: RegExp
  /** Matches a result that says it. */
  readonly seen: RegExp
  readonly likely: readonly [english: string, chinese: string]
  readonly unlikely: readonly [english: string, chinese: string]
}

const RAIN: Sight = {
  asked: /\brain|umbrel|\bwet|\bdry|shower|pour|drizzl|precip|soak|雨|伞|傘/i,
  seen: /\brain|shower|drizzle|sleet|storm|snow|hail|雨|雪/i,
  likely: ['rain is likely', '很可能会下雨'],
  unlikely: ['rain is not likely', '大概不会下雨'],
}
/** The first match counts, so a question about rain or snow, or rain or sun, is answered about rain. */
const SIGHTS: readonly Sight[] = [
  RAIN,
  {
    asked: /snow|雪/i,
    seen: /snow|sleet|blizzard|雪/i,
    likely: ['snow is likely', '很可能会下雪'],
    unlikely: ['snow is not likely', '大概不会下雪'],
  },
  {
    asked: /\bsun(?!day|rise|set)|晴/i,
    seen: /\bsun|\bclear\b|晴/i,
    likely: ['sunshine is likely', '很可能是晴天'],
    unlikely: ['sunshine is not likely', '大概不是晴天'],
  },
]
const NONE = /\bno (?:rain|precip)|\bdry\b|无雨/i
const FAIR = /\bclear\b|\bsunny\b|\bfair\b|\bcloudy\b|\bovercast\b|晴|阴|多云/i
/** A percentage within a text: `chance of rain 53 %`, `53% chance of rain`. */
const CHANCE =
  /(?:\brain|precipitation|降[水雨])[^\d.,;，；]{0,20}(\d+(?:\.\d+)?) ?%|(\d+(?:\.\d+)?) ?% (?:chance|probability|risk) of (?:rain|precip)/i
const WANTS_DRY =
  /\bdry\b|\bno rain\b|without (?:(?:an?|my|any) )?(?:rain|umbrella)|leave .*(?:umbrella|raincoat)|(?<!下)不下雨|(?<!会)不会下雨|(?<!带)不带伞|(?<!用)不用带伞/i
const WANTS_YES =
  /\b(?:will|won't|is|isn't|are|do|does|should|shall|can|could|need|if|whether)\b|'ll\b|吗|嗎|会不会|會不會|要不要|是否|用不用/i
const WANTS_MORE = /\b(?:how|what|what's|which|when|where|why|chances?|or(?! not\b))\b|多少|什么|几|概率/i

/**
 * Returns a verdict such as `yes, rain is likely`, or undefined if none is asked for or the facts say nothing of it.
 */
export function tellVerdict({ text, topics, han }: Reading, facts: readonly Fact[]): string | undefined {
  const sight = topics.has('weather') ? SIGHTS.find(({ asked }) => asked.test(text)) : undefined
  const isSeen = sight && (sight === RAIN ? rains(facts) : sees(sight, facts))
  if (!sight || isSeen === undefined) return undefined
  const wantsDry = sight === RAIN && WANTS_DRY.test(text)
  const dry = ['it should stay dry', '大概不会下雨'] as const
  const words = (isSeen ? sight.likely : wantsDry ? dry : sight.unlikely)[han ? 1 : 0]
  if (!WANTS_YES.test(text) || WANTS_MORE.test(text)) return words
  const isYes = isSeen !== wantsDry
  if (han) return `${isYes ? '是的' : '不'}，${words}`
  return `${isYes ? 'yes' : 'no'}, ${words}`
}

function rains(facts: readonly Fact[]): boolean | undefined {
  const of = (pattern: RegExp): Fact | undefined => facts.find(({ key }) => pattern.test(key))
  const chance = of(/(?:precip|rain).*(?:prob|chance)|(?:prob|chance).*(?:precip|rain)|^pop$/i)
  const percent = chance && percentOf(chance)
  if (percent !== undefined) return percent >= 50
  const amount = of(/precip|rain|umbrella/i)?.value
  if (typeof amount === 'number' || typeof amount === 'boolean') return Number(amount) > 0
  const said = facts.map(({ value }) => CHANCE.exec(String(value))).find((match) => match !== null)
  if (said) return Number(said[1] ?? said[2]) >= 50
  const words = facts.map(({ value }) => String(value))
  const wet = words.find((text) => RAIN.seen.test(text) || NONE.test(text))
  if (wet !== undefined) return !NONE.test(wet)
  return words.some((text) => FAIR.test(text)) ? false : undefined
}

/** Returns undefined if no fact describes the sky in words. */
function sees({ seen }: Sight, facts: readonly Fact[]): boolean | undefined {
  const sky = facts.find(({ key, value }) => isSky(key) && typeof value === 'string')
  return sky && seen.test(String(sky.value))
}
