/**
 * Derives what a tool is for from the words of its definition only. Its name and the beginning of its description weigh
 * most; the other words count less. Nothing here knows a tool by name.
 */
import type { ToolDefinition } from '../../contract/tool.ts'
import { type Field, fieldsOf, type Kind } from './field.ts'
import { type Action, wordsOf } from './vocabulary.ts'

export interface Profile {
  readonly definition: ToolDefinition
  readonly fields: readonly Field[]
  /** How strongly the tool is related to each term, 0 to 1. */
  readonly terms: ReadonlyMap<string, number>
  /** The terms of the tool's purpose, with the share of each. */
  readonly purpose: ReadonlyMap<string, number>
  readonly action: Action
  /** Whether it tells the present time or date, and needs no instant as an argument. */
  readonly tellsNow: boolean
  /** Whether it tells its user something at a later time. */
  readonly reminds: boolean
  /** Whether it sends a text to an address. */
  readonly sends: boolean
}

/** Kinds of fields about time. */
export const TEMPORAL: readonly Kind[] = ['instant', 'date', 'clock', 'phrase', 'duration', 'period', 'epoch', 'part']

export function isConcept(term: string): boolean {
  return !/^[=~]/.test(term)
}

const profiles = new WeakMap<ToolDefinition, Profile>()

/** Returns the profile of a definition, which is computed once. */
export function profileOf(definition: ToolDefinition): Profile {
  const profile = profiles.get(definition) ?? profiled(definition)
  profiles.set(definition, profile)
  return profile
}

function profiled(definition: ToolDefinition): Profile {
  const fields = fieldsOf(definition.inputSchema)
  const { terms, purpose } = gist(definition, fields)
  if (saysLater(fields)) {
    terms.set('remind', 1)
    purpose.set('remind', Math.max(1, purpose.get('remind') ?? 0))
  }
  const action = actionOf(definition, fields, purpose.has('remind'))
  const needs = fields.filter(({ required, kind }) => required && !['zone', 'place', 'enum', 'boolean'].includes(kind))
  const isAbout = (term: string): boolean => (purpose.get(term) ?? 0) > 0
  const isForeign = ([term, share]: readonly [string, number]): boolean =>
    isConcept(term) && share >= 1.2 && term !== 'time' && term !== 'date'
  const isClock = (isAbout('time') || isAbout('date')) && !purpose.entries().some(isForeign)
  const tellsNow = action === 'read' && isClock && needs.length === 0
  // A tool that knows the time knows the date too.
  if (tellsNow) terms.set('date', Math.max(terms.get('date') ?? 0, 0.9 * (terms.get('time') ?? 0)))
  const reminds = action === 'create' && (terms.get('remind') ?? 0) > 0.7
  const sends = action === 'create' && ['email', 'text'].every((kind) => needs.some((field) => field.kind === kind))
  return { definition, fields, terms, purpose, action, tellsNow, reminds, sends }
}

const BOILERPLATE = /\b(?:(?:use|call) )?this (?:tool|function)\b|\bwhen(?:ever)? (?:the|a) user\b(?: asks| wants)?/gi
/** The parts of a description: its beginning, the rest of the first sentence, and the other sentences. */
const PARTS = /^(.*?)((?:[,:;(，：；（]|\b(?:and|with|by|that|which|for|from|as|if|when) ).*?)?(?:[.。\n](.*))?$/s

/** Returns the terms of a definition, with its relation to each and the share of each in its purpose. */
function gist({ name, title = '', description }: ToolDefinition, fields: readonly Field[]) {
  const terms = new Map<string, number>()
  const purpose = new Map<string, number>()
  const raise = (map: Map<string, number>, term: string, value: number): void => {
    if (value > 0) map.set(term, Math.max(value, map.get(term) ?? 0))
  }
  const say = (text: string, strength: number, share = 0): void => {
    for (const { stem, senses, empty } of wordsOf(text)) {
      if (empty) continue
      // Only the first sense of a word counts for the purpose.
      const [first] = senses
      for (const [concept] of senses) raise(terms, concept, strength)
      if (first) raise(purpose, first[0], first[1] * share)
      raise(terms, first ? `~${stem}` : `=${stem}`, strength)
      raise(purpose, first ? `~${stem}` : `=${stem}`, (first ? 0.15 : 0.5) * share)
    }
  }
  const [, head = '', rest = '', more = ''] = PARTS.exec(description.replace(BOILERPLATE, ' ').trim()) ?? []
  say(`${name} ${title}`, 1, 1)
  say(head, 0.9, 0.6)
  say(rest, 0.9, 0.2)
  say(more, 0.5)
  for (const field of fields) {
    say(field.name, 0.6)
    say(field.description, 0.4)
    if (Array.isArray(field.schema.enum)) say(field.schema.enum.join(' '), 0.6)
    if (field.kind === 'sum') say('calculate square root', 0.7)
    if (field.kind === 'zone') say('time', 0.4)
  }
  return { terms, purpose }
}

/** Tells whether an instant and a text are the required fields: such a tool says something at a later time. */
function saysLater(fields: readonly Field[]): boolean {
  const needed = fields.filter(({ required }) => required).map(({ kind }) => kind)
  return needed.length === 2 && needed.includes('instant') && needed.includes('text')
}

/** Verbs that mean removal in a definition, but not in a question: temperatures drop too. */
const REMOVES = /^(?:drop|discard|withdraw|abort|clear|stop|end|(?:call|take|switch)s? (?:off|back))(?:s|_|\b|[A-Z])/i

function actionOf(
  { name, description, annotations }: ToolDefinition,
  fields: readonly Field[],
  isAboutReminders: boolean,
): Action {
  if (annotations.readOnly) return 'read'
  const named = wordsOf(name)
  const begins = [wordsOf(description)[0]?.action, named[0]?.action]
  const said = [...begins, named.at(-1)?.action]
  if (said.includes('remove') || REMOVES.test(description) || REMOVES.test(name)) return 'remove'
  if (said.includes('change')) return 'change'
  const isTimed = fields.some(({ kind }) => TEMPORAL.includes(kind))
  const takesText = fields.some(({ kind }) => kind === 'text')
  return begins.includes('create') || (isTimed && (isAboutReminders || takesText)) ? 'create' : 'read'
}
