/**
 * Formats numbers with a unit, which the end of the field's name tells (`windSpeedKmh`: `wind speed 20 km/h`). A
 * minimum and a maximum of the same quantity become a range (`temperatureMinC` and `temperatureMaxC`: `6 to 10 °C`).
 * Probabilities are given in percent, also those between 0 and 1.
 */
import type { Fact } from './facts.ts'
import { hanName, wordsIn } from './label.ts'

/** The unit as written after a number, in English and in Chinese. */
type Unit = readonly [english: string, chinese: string]

const UNITS: Readonly<Record<string, Unit>> = {
  c: [' °C', '℃'],
  celsius: [' °C', '℃'],
  f: [' °F', '℉'],
  fahrenheit: [' °F', '℉'],
  mm: [' mm', '毫米'],
  cm: [' cm', '厘米'],
  km: [' km', '公里'],
  kg: [' kg', '千克'],
  ms: [' ms', '毫秒'],
  seconds: [' seconds', '秒'],
  minutes: [' minutes', '分钟'],
  hours: [' hours', '小时'],
  days: [' days', '天'],
  kmh: [' km/h', '公里/小时'],
  kph: [' km/h', '公里/小时'],
  mph: [' mph', '英里/小时'],
  mps: [' m/s', '米/秒'],
  hpa: [' hPa', '百帕'],
  percent: [' %', '%'],
  pct: [' %', '%'],
  eur: [' EUR', '欧元'],
  usd: [' USD', '美元'],
  gbp: [' GBP', '英镑'],
  cny: [' CNY', '元'],
}
const NO_UNIT: Unit = ['', '']
const LOWEST = /^(?:min|minimum|low|lowest)$/
const HIGHEST = /^(?:max|maximum|high|highest)$/
/** A single letter is a unit only after these words: `vitaminC` is not in degrees. */
const HAS_DEGREES = /temp|feels|dew|heat|chill|min|max|low|high/
/** Names that a number with its unit does not need. */
const SPEAKS_FOR_ITSELF = /^(?:temperature|temp|precipitation|precip|rain|rainfall)?$/

interface Measure {
  readonly name: string
  readonly unit: Unit
  readonly end: 'lowest' | 'highest' | undefined
  readonly value: number
}

/** Returns a probability in percent; a value below 1 counts as a fraction. Returns undefined for any other fact. */
export function percentOf({ key, value }: Fact): number | undefined {
  if (typeof value !== 'number' || !/probab|prob$|chance|likelihood|^pop$/i.test(key)) return undefined
  return Math.round((value < 1 ? value * 100 : value) * 10) / 10
}

/** Formats a number; `''` if the minimum of its range includes it, undefined if its unit is unknown. */
export function tellMeasure(fact: Fact, facts: readonly Fact[], han: boolean): string | undefined {
  const percent = percentOf(fact)
  if (percent !== undefined) return tellChance(fact.key, percent, han)
  const measure = measureOf(fact)
  if (!measure) return undefined
  const { name, unit, end } = measure
  const isOther = (other: Measure | undefined): other is Measure =>
    other?.end !== undefined && other.end !== end && other.name === name && other.unit === unit
  const other = end && facts.map(measureOf).find(isOther)
  if (other && end === 'highest') return ''
  // Without a unit or a counterpart, a name such as `highScore` is no measure.
  if (!other && unit === NO_UNIT) return undefined
  return said(measure, other?.value, han)
}

function measureOf({ key, value }: Fact): Measure | undefined {
  if (typeof value !== 'number') return undefined
  const words = wordsIn(key)
  const last = words.at(-1) ?? ''
  const isUnit =
    Object.hasOwn(UNITS, last) && (last.length > 1 || words.slice(0, -1).some((word) => HAS_DEGREES.test(word)))
  const unit = isUnit ? UNITS[last] : undefined
  const named = unit ? words.slice(0, -1) : words
  const end = named.some((word) => LOWEST.test(word))
    ? 'lowest'
    : named.some((word) => HIGHEST.test(word))
      ? 'highest'
      : undefined
  if (!unit && !end) return undefined
  const name = named.filter((word) => !LOWEST.test(word) && !HIGHEST.test(word)).join(' ')
  return { name, unit: unit ?? NO_UNIT, end, value }
}

function said({ name, unit, end, value }: Measure, highest: number | undefined, han: boolean): string {
  const sign =
    value === 1 && highest === undefined ? unit[han ? 1 : 0].replace(/(?<=^ \w{2,})s$/, '') : unit[han ? 1 : 0]
  const isBare = SPEAKS_FOR_ITSELF.test(name) && sign !== ''
  if (han) {
    const label = isBare && end ? '' : (hanName(name) ?? (isBare ? '' : `${name} `))
    const low = end === 'highest' ? `最高${value}${sign}` : `${end ? '最低' : ''}${value}${sign}`
    return label + low + (highest === undefined ? '' : `，最高${highest}${sign}`)
  }
  const label = isBare || name === '' ? '' : `${name} `
  if (highest !== undefined) return `${label}${value === highest ? value : `${value} to ${highest}`}${sign}`
  const bound = end === undefined ? '' : end === 'lowest' ? 'at least ' : 'at most '
  return `${label}${bound}${value}${sign}`
}

function tellChance(key: string, percent: number, han: boolean): string {
  if (/precip|rain|^pop$/i.test(key)) return han ? `降水概率${percent}%` : `${percent} % chance of rain`
  const name = wordsIn(key).join(' ')
  return han ? `${hanName(name) ?? name} ${percent}%` : `${name} ${percent} %`
}
