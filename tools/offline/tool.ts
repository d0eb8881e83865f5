/** Reads a tool's definition: what it speaks of, what it does, and which fields it takes. */
import { type Field, fieldsOf, wordsIn } from './schema.ts'
import { type Action, wordsOf } from './vocabulary.ts'

/** A function tool as Chat Completions offers it. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: unknown
}

export interface Tool {
  readonly name: string
  readonly fields: readonly Field[]
  readonly action: Action
  /** How surely the tool is about each concept: 3 by its name, 1.5 by its first sentence, 0.5 by the rest. */
  readonly topics: ReadonlyMap<string, number>
  /** Whether it is about dates or times. */
  readonly tellsTime: boolean
  /** Whether it tells the present date or time without being told more than a zone or a place. */
  readonly tellsNow: boolean
}

export function toolOf({ name, description, parameters }: ToolDefinition): Tool {
  const fields = fieldsOf(parameters)
  const [first = '', ...others] = description.split(/(?<=[.!?。])\s*/)
  const topics = new Map<string, number>()
  const raise = (text: string, weight: number): void => {
    const content = wordsOf(text).filter(({ isEmpty }) => !isEmpty)
    for (const concept of content.flatMap(({ concepts }) => concepts)) {
      topics.set(concept, Math.max(weight, topics.get(concept) ?? 0))
    }
  }
  raise(name, 3)
  raise(first, 1.5)
  raise(others.join(' '), 0.5)
  for (const field of fields) raise(`${field.words} ${field.description} ${field.options.join(' ')}`, 0.5)
  const isAbout = (concept: string): boolean => (topics.get(concept) ?? 0) >= 1.5
  const needs = fields.filter(({ isRequired }) => isRequired)
  const isFree = needs.every(({ kind, options }) => kind === 'zone' || kind === 'place' || options.length === 1)
  const isPresent = /\b(?:now|current|present|what time)\b|现在|当前/i.test(`${wordsIn(name)} ${first}`)
  const tellsNow = isFree && isPresent && (isAbout('time') || isAbout('date'))
  const tellsTime = tellsNow || ['time', 'date'].some((concept) => (topics.get(concept) ?? 0) >= 3)
  // What tells one of the two can tell the other.
  if (tellsTime) for (const concept of ['time', 'date']) topics.set(concept, 3)
  return { name, fields, topics, action: actionOf(name, first), tellsTime, tellsNow }
}

/**
 * Returns what a tool does: it reads if its description begins so, since `order` of `orderStatus` may be a noun. Else by
 * the verb at the head of its name, else of its description.
 */
function actionOf(name: string, first: string): Action {
  if (/^(?:looks? up|finds?|lists?|shows?|gets?|reads?|fetch(?:es)?)\b/i.test(first)) return 'read'
  const [verb] = wordsOf(name)
  if (verb?.action) return verb.action
  if (/\b(?:tells|answers|returns|computes|converts)\b|返回|查询/i.test(first)) return 'read'
  const [firstWord] = wordsOf(first.replace(/^(\w+?)(?:e?s)\b/, '$1'))
  return firstWord?.action ?? 'read'
}
