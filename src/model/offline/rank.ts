/**
 * Ranks the offered tools for a question. A tool's score is the share of the question that it covers, times the share
 * of its purpose that is asked for, times factors for its action (nothing is removed or changed unasked) and for the
 * required values that are missing. A tool with a score below `ENOUGH` does not fit.
 */
import type { Field, Kind } from './field.ts'
import { isConcept, type Profile, TEMPORAL } from './profile.ts'
import type { Reading } from './read.ts'

export const ENOUGH = 0.36

export interface Choice {
  readonly profile: Profile
  readonly score: number
}

/** Returns the tools by score, best first. */
export function rank(profiles: readonly Profile[], reading: Reading): readonly Choice[] {
  return profiles.map((profile) => ({ profile, score: scoreOf(profile, reading) })).sort((a, b) => b.score - a.score)
}

function scoreOf(profile: Profile, reading: Reading): number {
  const { fields, terms, tellsNow } = profile
  const takesText = fields.some(({ kind }) => kind === 'text')
  let [asked, covered, core] = [0, 0, 0]
  for (const [term, weight] of reading.terms) {
    const strength = terms.get(term) ?? 0
    // Minor terms, and words that a text field can take, do not lower the score.
    if (term.startsWith('=') ? strength === 0 && takesText : weight < 0.6) continue
    asked += weight
    covered += weight * strength
    if (strength >= 0.5 && term !== 'person') core += weight * strength
  }
  const slot = (weight: number, given: unknown, kinds: readonly Kind[], taken = false): void => {
    if (!given) return
    asked += weight
    const takes = (field: Field): boolean => (field.required || field.kind !== 'number') && kinds.includes(field.kind)
    if (taken || fields.some((field) => takes(field) || field.fields.some(takes))) covered += weight
  }
  slot(0.5, reading.when, TEMPORAL, tellsNow)
  // A clock without a zone argument is good enough: its answer can be converted.
  slot(0.6, reading.places[0], ['place', 'zone', 'text'], tellsNow && reading.places[0]?.zone !== undefined)
  slot(reading.id === undefined ? 0.5 : 1.2, reading.numbers.length, ['number', 'id', 'sum', 'text'])
  slot(0.4, reading.quoted[0], ['text'])
  slot(1, reading.urls[0], ['url'])
  // A URL itself tells that a tool with a URL field is meant.
  if (reading.urls.length > 0 && fields.some(({ kind }) => kind === 'url')) core += 1
  const share = covered / asked
  if (core < 0.45 || share < (tellsNow ? 0.6 : 0.55)) return 0
  return share * purposeShare(profile, reading) * willing(profile, reading) * 0.75 ** lacking(profile, reading)
}

/** Returns how much of the tool's purpose is asked for, 0.25 to 1. */
function purposeShare({ purpose, tellsNow }: Profile, { terms }: Reading): number {
  let [whole, wanted, concepts, foreign] = [0, 0, 0, 0]
  for (const [term, share] of purpose) {
    const isAsked = terms.has(term) || (term === 'time' && tellsNow && terms.has('date'))
    whole += share
    if (isAsked) wanted += share
    if (isConcept(term)) concepts += share
    if (isConcept(term) && !isAsked) foreign += share
  }
  return (0.5 + (0.5 * wanted) / whole) * (1 - (0.5 * foreign) / (concepts || 1))
}

/** Counts the required values that the question does not give, up to 3. */
function lacking({ fields, reminds }: Profile, reading: Reading): number {
  const has = ({ kind }: Field): boolean => {
    if (TEMPORAL.includes(kind)) return reading.when !== undefined
    if (kind === 'place' || kind === 'zone') return reading.places.length > 0
    if (kind === 'number' || kind === 'id') return reading.numbers.length + reading.codes.length > 0
    if (kind === 'sum') return reading.sum !== undefined
    if (kind === 'url') return reading.urls.length > 0
    return kind !== 'email' || reading.emails.length > 0 || reminds
  }
  return Math.min(3, fields.filter((field) => field.required && !has(field)).length)
}

/** Returns a factor for how well the tool's action is the one that is asked for. */
function willing({ action, terms, reminds }: Profile, { actions, terms: asked }: Reading): number {
  if (action === 'remove' || action === 'change') return actions.has(action) ? 1.2 : 0.2
  if (actions.has('remove')) return 0.3
  if (action === 'create') return actions.has('create') || (asked.get('remind') ?? 0) >= 1 ? 1.1 : 0.5
  return terms.has('remind') && !reminds && actions.has('create') ? 0.6 : 1
}
