/**
 * Finds places and their time zones. The cities of the IANA list (from `Intl`) and a short table of other cities and
 * countries are known, in upper or lower case. Any other place is recognized by a capital letter after a preposition or
 * before `'s`.
 */

/** On each line a city of the IANA list, or a zone, then other places in the same time zone. */
const SAME_CLOCK = `tokyo,japan,osaka,kyoto,东京,日本
shanghai,china,beijing,guangzhou,shenzhen,changchun,中国,北京,上海,广州,深圳,长春
hong kong,香港
taipei,taiwan,台北
singapore,新加坡
seoul,korea,south korea,首尔,韩国
Asia/Kolkata,india,kolkata,mumbai,delhi,new delhi,bangalore,印度
bangkok,thailand,曼谷
Asia/Ho_Chi_Minh,vietnam,hanoi
jakarta,indonesia
manila,philippines
dubai,uae,abu dhabi,迪拜
jerusalem,israel,tel aviv
istanbul,turkey
moscow,russia,莫斯科
Europe/Kyiv,kyiv,ukraine
london,uk,england,britain,united kingdom,scotland,edinburgh,manchester,伦敦,英国
dublin,ireland
paris,france,lyon,巴黎,法国
berlin,germany,munich,hamburg,frankfurt,柏林,德国
copenhagen,denmark,københavn,aarhus,odense,哥本哈根,丹麦
stockholm,sweden
oslo,norway,bergen
helsinki,finland
reykjavik,iceland
amsterdam,netherlands
brussels,belgium
zurich,switzerland,geneva
vienna,austria
madrid,spain,barcelona,马德里
lisbon,portugal
rome,italy,milan,naples,venice,罗马
athens,greece
warsaw,poland
prague,czechia
cairo,egypt
johannesburg,south africa,cape town
nairobi,kenya
lagos,nigeria
new york,new york city,nyc,usa,united states,boston,washington,miami,atlanta,纽约,美国
chicago,houston,dallas,austin
los angeles,san francisco,california,seattle,las vegas,洛杉矶,旧金山
honolulu,hawaii
toronto,canada,montreal
sao paulo,brazil,são paulo,rio de janeiro
buenos aires,argentina
mexico city,mexico
sydney,australia,悉尼
auckland,new zealand`

/** Names of the IANA list that are more often common words or people. */
const WORDS = /^(?:wake|center|easter|christmas|midway|troll|resolute|nome|oral|davis|casey|palmer|stanley|knox)$/

export interface Place {
  readonly name: string
  readonly zone?: string | undefined
  readonly at: number
}

interface Atlas {
  readonly zones: ReadonlyMap<string, string>
  readonly names: RegExp
}

let atlas: Atlas | undefined

function openAtlas(): Atlas {
  if (atlas) return atlas
  const zones = new Map([['utc', 'UTC']])
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const name = zone.replace(/.*\//, '').replaceAll('_', ' ').toLowerCase()
    if (!WORDS.test(name)) zones.set(name, zone)
  }
  for (const line of SAME_CLOCK.split('\n')) {
    const [city = '', ...others] = line.split(',')
    for (const name of others) zones.set(name, zones.get(city) ?? city)
  }
  const names = [...zones.keys()].sort((a, b) => b.length - a.length).join('|')
  atlas = {
    zones,
    names: new RegExp(
      `\\b(?:europe|a[a-z]+a|pacific|atlantic|indian)/\\w+|(?<![a-zà-ž\\d])(?:${names})(?:'s\\b)?(?![a-zà-ž\\d])`,
      'giu',
    ),
  }
  return atlas
}

/** Returns the IANA zone of a known place. */
export function zoneOf(name: string): string | undefined {
  return openAtlas().zones.get(name.toLowerCase())
}

const CAPITALISED = `\\p{Lu}[\\p{L}'.-]*(?:[ -](?:(?:d[aeiou]|del|la|le|of|upon|on) )?\\p{Lu}[\\p{L}.-]*)*`
const NAMED = new RegExp(
  `(?<=\\b(?:in|for|at|to|of|near|from|around|over|visit) )${CAPITALISED}|${CAPITALISED}(?<='s(?= ))`,
  'gu',
)

/** Finds the places of a text in order. `rest` is the text with them blanked out; `isWord` recognizes common words. */
export function findPlaces(
  text: string,
  isWord: (word: string) => boolean,
): { places: readonly Place[]; rest: string } {
  const { zones, names } = openAtlas()
  const found: Place[] = []
  const rest = text
    .replace(names, (match, at: number) => {
      const name = match.replace(/'s$/i, '')
      found.push({ name: properName(name), zone: zones.get(name.toLowerCase()) ?? name, at })
      return '\v'.repeat(match.length)
    })
    .replace(NAMED, (match, at: number) => {
      if (match.split(' ').every(isWord)) return match
      found.push({ name: match.replace(/'s$|[.'-]+$/, ''), at })
      return '\v'.repeat(match.length)
    })
  return { places: found.sort((a, b) => a.at - b.at), rest }
}

/** Returns a place's name as written, or capitalized if it was written in one case only. */
export function properName(name: string): string {
  if (name !== name.toLowerCase() && name !== name.toUpperCase()) return name
  if (name.length < 4) return name.toUpperCase()
  return name.toLowerCase().replace(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())
}
