/**
 * What the last user message asks for: one intent for each question in it that a tool fits. A message is cut where a
 * question about something else opens. One with too little of its own (“and in Paris?”, or the reply to a question of
 * ours) stands in for the values of the last one that had an intent.
 */
import type { Profile } from './profile.ts'
import { ENOUGH, rank } from './rank.ts'
import { read, type Reading, TELL } from './read.ts'

export interface Intent {
  readonly profile: Profile
  readonly reading: Reading
  /** The whole message, for values that the intent's own words lack. */
  readonly message: Reading
}

export interface Asked {
  readonly intents: readonly Intent[]
  /** Questions of the message that no tool fits. */
  readonly unfit: readonly string[]
}

/** How far back a message may reach for what it lacks. */
const MOST_EARLIER = 8

const BOUNDARY = new RegExp(
  '((?<=[?!。;])\\s*|(?<=\\.)\\s+|[,，、]\\s*(?:(?:and|also|then|plus) )?|' +
    '\\s+(?:and|also|then|plus|&)\\s+(?:also |then )?|\\s[–—-]\\s|:\\s)',
)
const QUESTION = /^(?:what|who|when|where|which|how|will|is|are|does|do|did|tell|show|please|can|could|谁|怎)/i
const OPENER = new RegExp(
  '^(?:would|should|give|remind|set|calculate|compute|find|look|get|wake|ping|nudge|check|convert|send|book|cancel|' +
    "write|i'd|i (?:want|need)|let|请|帮|提醒|查|告诉)",
  'i',
)
const FOLLOWS = /^(?:and|or|what about|how about|same|also|again|那|还有)|呢\W*$/i

/**
 * The intents of a message, given what users said before it, last first. `asked`: it comes after a question of ours.
 */
export function intentsOf(
  message: string,
  earlier: readonly string[],
  profiles: readonly Profile[],
  asked: boolean,
): Asked {
  const own = cut(message, profiles)
  const whole = read(message)
  const isBare = ![...whole.terms.keys()].some((term) => /^[=~]/.test(term))
  const brings = whole.when !== undefined || whole.places.length + whole.numbers.length + whole.quoted.length > 0
  if ((isBare && brings) || (own.intents.length === 0 && (asked || (brings && FOLLOWS.test(message))))) {
    for (const past of earlier.slice(0, MOST_EARLIER)) {
      const last = cut(past, profiles).intents.at(-1)
      if (last) return { intents: [carryOn(last, whole)], unfit: [] }
    }
  }
  return own
}

/** The intent of an earlier message with the values of a later one. */
function carryOn({ profile, reading }: Intent, later: Reading): Intent {
  const merged: Reading = {
    ...reading,
    reply: later.text,
    places: later.places.length > 0 ? later.places : reading.places,
    numbers: later.numbers.length > 0 ? later.numbers : reading.numbers,
    id: later.numbers.length > 0 ? later.id : reading.id,
    codes: later.codes.length > 0 ? later.codes : reading.codes,
    quoted: later.quoted.length > 0 ? later.quoted : reading.quoted,
    sum: later.sum ?? reading.sum,
    ...(later.when && { when: later.when }),
  }
  return { profile, reading: merged, message: merged }
}

/** A stretch of a message about one thing. */
interface Group {
  text: string
  readonly topics: Set<string>
  /** The pieces of it that could stand alone. */
  readonly entries: string[]
}

function cut(message: string, profiles: readonly Profile[]): Asked {
  const whole = read(message)
  const groups = groupsOf(message).map(({ text, entries }) => {
    const own = read(text)
    const isThere = own.places.length === 0 && /\bthere\b/i.test(text)
    const reading = isThere ? { ...own, places: whole.places.slice(0, 1) } : own
    const [best] = [text, ...entries]
      .flatMap((entry) => rank(profiles, { ...reading, terms: read(entry).terms }).slice(0, 1))
      .sort((a, b) => b.score - a.score)
    return { text, reading, profile: best && best.score >= ENOUGH ? best.profile : undefined }
  })
  return {
    intents: groups.flatMap(({ profile, reading }) => (profile ? each({ profile, reading, message: whole }) : [])),
    unfit: groups.flatMap(({ text, reading, profile }) =>
      profile || !opens(text) || reading.terms.size < 2 ? [] : text,
    ),
  }
}

function opens(text: string): boolean {
  return QUESTION.test(text) || OPENER.test(text)
}

/** A message in groups: a piece begins a new one where it opens a question about something else. */
function groupsOf(message: string): readonly Group[] {
  const groups: Group[] = []
  const pieces = message.split(BOUNDARY)
  for (let at = 0; at < pieces.length; at += 2) {
    const [joint = '', piece = ''] = [pieces[at - 1], pieces[at]]
    const { topics } = read(piece)
    const group = groups.at(-1)
    const tells = group !== undefined && TELL.test(group.text)
    // Between sentences there is no joint but space.
    const isOpen = joint.trim() === '' || (tells ? QUESTION.test(piece) : opens(piece))
    const isOther =
      group && topics.size > 0 && group.topics.size > 0 && ![...topics].some((topic) => group.topics.has(topic))
    if (group && !(isOther && (isOpen || !tells))) {
      group.text += joint + piece
      for (const topic of topics) group.topics.add(topic)
      if (isOpen && topics.size > 0) group.entries.push(piece)
    } else groups.push({ text: piece, topics: new Set(topics), entries: topics.size > 0 ? [piece] : [] })
  }
  return groups
}

/** One intent for each place of a list, where the tool takes one. */
function each(intent: Intent): readonly Intent[] {
  const { profile, reading } = intent
  const places = reading.places.filter(({ zone }, at, all) => at === 0 || zone !== all[at - 1]?.zone)
  const takers = profile.fields.filter(({ kind }) => kind === 'place' || kind === 'zone')
  if (places.length < 2 || takers.length !== 1 || profile.reminds) return [intent]
  return places.map((place) => ({ ...intent, reading: { ...reading, places: [place] } }))
}
