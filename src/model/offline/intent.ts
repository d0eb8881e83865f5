/**
 * Finds what the last user message asks for: one intent for each question in it that a tool fits. A message is cut
 * where a question about something else begins. A message without a question of its own (“and in Paris?”, or the reply
 * to a question of the model) repeats the last intent of an earlier message with its own values.
 */
import { isDictating, isWorded } from './payload.ts'
import type { Profile } from './profile.ts'
import { ENOUGH, rank } from './rank.ts'
import { read, type Reading, TELL } from './read.ts'
import { leftToSay, pointsElsewhere } from './send.ts'
import { hasDay } from './when.ts'

export interface Intent {
  readonly profile: Profile
  readonly reading: Reading
  /** The reading of the whole message, for values that the intent's own words lack. */
  readonly message: Reading
  /** For an intent to send: the questions whose answers are sent; empty if the message itself has the text. */
  readonly sources?: readonly Intent[]
}

export interface Asked {
  readonly intents: readonly Intent[]
  /** The questions in the message that no tool fits. */
  readonly unfit: readonly string[]
}

/** The number of earlier messages that may supply what a message lacks. */
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
 * Returns the intents of a message. `earlier` are the user messages before it, last first; `asked` tells whether the
 * message follows a question of the model.
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
  const given = [whole.places, whole.numbers, whole.quoted, whole.emails]
  const brings = whole.when !== undefined || given.some(({ length }) => length > 0)
  const isShort = (isBare && brings) || (own.intents.length === 0 && (asked || (brings && FOLLOWS.test(message))))
  // A request to send something is an intent of its own, however short the message.
  if (isShort && !whole.sends) {
    for (const past of earlier.slice(0, MOST_EARLIER)) {
      const last = cut(past, profiles).intents.at(-1)
      if (last) return { intents: [...(last.sources ?? []), carryOn(last, whole)], unfit: [] }
    }
  }
  return { ...own, intents: own.intents.flatMap((intent) => withSources(intent, earlier, profiles)) }
}

/**
 * Returns an intent, preceded by those whose answers it is to send if its message refers to them: the questions of an
 * earlier message.
 */
function withSources(intent: Intent, earlier: readonly string[], profiles: readonly Profile[]): readonly Intent[] {
  const { sources, reading } = intent
  if (sources?.length !== 0 || isWorded(reading) || !pointsElsewhere(reading.text)) return [intent]
  for (const past of earlier.slice(0, MOST_EARLIER)) {
    const asked = cut(past, profiles).intents.filter(isRead)
    if (asked.length > 0) return [...asked, { ...intent, sources: asked }]
  }
  return [intent]
}

/** Repeats the intent of an earlier message with the values of a later one. */
function carryOn({ profile, reading, sources }: Intent, later: Reading): Intent {
  const merged: Reading = {
    ...reading,
    reply: later.text,
    places: later.places.length > 0 ? later.places : reading.places,
    numbers: later.numbers.length > 0 ? later.numbers : reading.numbers,
    id: later.numbers.length > 0 ? later.id : reading.id,
    codes: later.codes.length > 0 ? later.codes : reading.codes,
    quoted: later.quoted.length > 0 ? later.quoted : reading.quoted,
    emails: later.emails.length > 0 ? later.emails : reading.emails,
    sum: later.sum ?? reading.sum,
    ...(later.when && { when: later.when }),
  }
  return { profile, reading: merged, message: merged, ...(sources && { sources }) }
}

/** A part of a message about one topic. */
interface Group {
  text: string
  readonly topics: Set<string>
  /** Whether it names a place and no day. */
  isPlaced: boolean
  /** Its pieces that could be questions on their own. */
  readonly entries: string[]
}

function cut(message: string, profiles: readonly Profile[]): Asked {
  const whole = read(message)
  const senders = profiles.filter((profile) => profile.sends)
  const groups = groupsOf(message).map((group) => {
    const reading = read(group.text)
    const [sender] = reading.sends ? rank(senders, reading) : []
    if (!sender) return { text: group.text, intents: fitting(group, profiles, whole) }
    return { text: group.text, reading, sender: sender.profile, intents: toBeSent(reading, profiles, whole) }
  })
  const found = groups.flatMap(({ intents }) => intents)
  const sendings = groups.flatMap(({ reading, sender, intents }): readonly Intent[] => {
    if (!sender) return []
    const sources = isWorded(reading) ? [] : intents.length > 0 ? intents : found.filter(isRead)
    return eachAddress({ profile: sender, reading, message: whole, sources })
  })
  return {
    intents: [...found, ...sendings],
    unfit: groups.flatMap(({ text, sender, intents }) => {
      return sender || intents.length > 0 || !opens(text) || read(text).terms.size < 2 ? [] : text
    }),
  }
}

function isRead({ profile }: Intent): boolean {
  return profile.action === 'read'
}

/** Returns the intents of a group of pieces. */
function fitting({ text, entries }: Pick<Group, 'text' | 'entries'>, profiles: readonly Profile[], message: Reading) {
  const own = read(text)
  const isThere = own.places.length === 0 && /\bthere\b/i.test(text)
  const reading = isThere ? { ...own, places: message.places.slice(0, 1) } : own
  const [best] = [text, ...entries]
    .flatMap((entry) => rank(profiles, { ...reading, terms: read(entry).terms }).slice(0, 1))
    .sort((a, b) => b.score - a.score)
  return best && best.score >= ENOUGH ? each({ profile: best.profile, reading, message }) : []
}

/** Returns the intents of the question in a request to send its answer. */
function toBeSent(reading: Reading, profiles: readonly Profile[], message: Reading): readonly Intent[] {
  const text = isWorded(reading) ? '' : leftToSay(reading.text)
  return text === '' ? [] : fitting({ text, entries: [] }, profiles, message).filter(isRead)
}

function opens(text: string): boolean {
  return QUESTION.test(text) || OPENER.test(text)
}

/** Splits a message into groups. A piece begins a new group if it begins a question about something else. */
function groupsOf(message: string): readonly Group[] {
  const groups: Group[] = []
  const pieces = message.split(BOUNDARY)
  for (let at = 0; at < pieces.length; at += 2) {
    const [joint = '', piece = ''] = [pieces[at - 1], pieces[at]]
    const { topics, places, when } = read(piece)
    const group = groups.at(-1)
    const tells = group !== undefined && (TELL.test(group.text) || isDictating(group.text + joint))
    // Pieces separated only by space are sentences, which are always open to a new question.
    const isOpen = joint.trim() === '' || (tells ? QUESTION.test(piece) : opens(piece))
    const isShared = [...topics].some((topic) => group?.topics.has(topic))
    const isDated = when !== undefined && hasDay(when)
    // A question with a day and no place is not about the city of the question before it.
    const isElsewhere = group?.isPlaced && isDated && places.length === 0 && opens(piece) && !/\bthere\b/i.test(piece)
    const isOther = group && topics.size > 0 && group.topics.size > 0 && (!isShared || isElsewhere)
    if (group && !(isOther && (isOpen || !tells))) {
      group.text += joint + piece
      for (const topic of topics) group.topics.add(topic)
      group.isPlaced = (group.isPlaced || places.length > 0) && !isDated
      if (isOpen && topics.size > 0) group.entries.push(piece)
    } else {
      const isPlaced = places.length > 0 && !isDated
      groups.push({ text: piece, topics: new Set(topics), isPlaced, entries: topics.size > 0 ? [piece] : [] })
    }
  }
  return groups
}

/** Makes one intent for each mail address, if the tool takes a single one. */
function eachAddress(intent: Intent): readonly Intent[] {
  const { profile, reading } = intent
  const takers = profile.fields.filter(({ kind }) => kind === 'email')
  if (reading.emails.length < 2 || takers.length !== 1) return [intent]
  return reading.emails.map((email) => ({ ...intent, reading: { ...reading, emails: [email] } }))
}

/** Makes one intent for each place of a list, if the tool takes a single one. */
function each(intent: Intent): readonly Intent[] {
  const { profile, reading } = intent
  const places = reading.places.filter(({ zone }, at, all) => at === 0 || zone !== all[at - 1]?.zone)
  const takers = profile.fields.filter(({ kind }) => kind === 'place' || kind === 'zone')
  if (places.length < 2 || takers.length !== 1 || profile.reminds) return [intent]
  return places.map((place) => ({ ...intent, reading: { ...reading, places: [place] } }))
}
