/**
 * Finds proper names: places with their time zones, and the names of people and things. The cities of the IANA list
 * (from `Intl`) and a short table are known in any spelling; other names are told by their capital letters.
 */
import { wordsOf } from './vocabulary.ts'

/** Cities of the IANA list, or zones, each with other places that have the same clock. */
const SAME_CLOCK = `tokyo,japan,osaka,kyoto,东京,日本,大阪;shanghai,china,beijing,guangzhou,shenzhen,changchun,中国,北京,上海,广州,深圳,长春,成都,杭州
hong kong,香港;taipei,taiwan,台北;singapore,新加坡;seoul,korea,south korea,首尔,韩国
Asia/Kolkata,india,kolkata,mumbai,delhi,new delhi,bangalore,印度;bangkok,thailand,曼谷
Asia/Ho_Chi_Minh,vietnam,hanoi;jakarta,indonesia;manila,philippines;dubai,uae,abu dhabi,迪拜
jerusalem,israel,tel aviv;istanbul,turkey;moscow,russia,莫斯科;Europe/Kyiv,kyiv,ukraine
london,uk,england,britain,united kingdom,scotland,edinburgh,manchester,伦敦,英国;dublin,ireland
paris,france,lyon,巴黎,法国;berlin,germany,munich,hamburg,frankfurt,cologne,柏林,德国
copenhagen,denmark,københavn,aarhus,odense,哥本哈根,丹麦;stockholm,sweden;oslo,norway,bergen;helsinki,finland
reykjavik,iceland;amsterdam,netherlands;brussels,belgium;zurich,switzerland,geneva;vienna,austria
madrid,spain,barcelona,马德里;lisbon,portugal;rome,italy,milan,naples,venice,florence,罗马;athens,greece
warsaw,poland;prague,czechia;cairo,egypt;johannesburg,south africa,cape town;nairobi,kenya;lagos,nigeria
new york,new york city,nyc,usa,united states,boston,washington,miami,atlanta,纽约,美国;chicago,houston,dallas,austin
los angeles,san francisco,california,seattle,las vegas,洛杉矶,旧金山;honolulu,hawaii;toronto,canada,montreal
sao paulo,brazil,são paulo,rio de janeiro;buenos aires,argentina;mexico city,mexico;sydney,australia,悉尼
auckland,new zealand`

/** Names of the IANA list that are more often common words or people. */
const WORDS = /^(?:wake|center|easter|christmas|midway|troll|resolute|nome|oral|davis|casey|palmer|stanley|knox)$/

/** A proper name. `zone` is the IANA time zone if it is a known place; `lead` the preposition before it, if any. */
export interface Proper {
  readonly name: string
  readonly zone: string | undefined
  readonly lead: string
  readonly at: number
}

const zones = new Map([['utc', 'UTC']])
for (const zone of Intl.supportedValuesOf('timeZone')) {
  const name = zone.replace(/.*\//, '').replaceAll('_', ' ').toLowerCase()
  if (!WORDS.test(name)) zones.set(name, zone)
}
for (const line of SAME_CLOCK.split(/[;\n]/)) {
  const [city = '', ...others] = line.split(',')
  for (const name of others) zones.set(name, zones.get(city) ?? city)
}
const longestFirst = [...zones.keys()].sort((a, b) => b.length - a.length).join('|')
const ZONE = '\\b(?:africa|america|asia|atlantic|australia|europe|indian|pacific)/\\w+'
const PLACE = new RegExp(`${ZONE}|(?<![a-zà-ž\\d])(?:${longestFirst})(?:'s\\b)?(?![a-zà-ž\\d])`, 'giu')
const CAPITALISED = `\\p{Lu}[\\p{L}'-]*(?:[ -](?:(?:d[aeiou]|del|van|von|le|la|of|upon) )?\\p{Lu}[\\p{L}'-]*)*`

/** Finds the names of a text in order. `rest` is the text with them blanked out. */
export function findNames(text: string): { names: readonly Proper[]; rest: string } {
  const names: Proper[] = []
  const take = (match: string, at: number, zone?: string): string => {
    const lead = /(\p{L}+) (?:the )?$/u.exec(text.slice(0, at))?.[1]?.toLowerCase() ?? ''
    names.push({ name: zone ? properName(match) : match, zone, lead, at })
    return '\v'.repeat(match.length)
  }
  const rest = text
    .replace(PLACE, (match, at: number) => {
      const name = match.replace(/'s$/i, '')
      return take(name, at, zones.get(name.toLowerCase()) ?? name) + match.slice(name.length)
    })
    .replace(new RegExp(CAPITALISED, 'gu'), (match, at: number) => {
      // Common words at the head of a sentence have a capital too.
      const parts = match.split(/(?<= )/)
      const first = parts.findIndex((part) => wordsOf(part).some(({ isKnown }) => !isKnown))
      if (first < 0) return match
      const head = parts.slice(0, first).join('')
      const name = match.slice(head.length).replace(/'s$|[.'-]+$/, '')
      return head + take(name, at + head.length) + match.slice(head.length + name.length)
    })
  return { names: names.sort((a, b) => a.at - b.at), rest }
}

/** Returns a name as written, or with capitals if it was written without. */
export function properName(name: string): string {
  if (name !== name.toLowerCase() || name.includes('/')) return name
  if (name.length < 4) return name.toUpperCase()
  return name.replace(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())
}
