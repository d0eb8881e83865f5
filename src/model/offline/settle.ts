/**
 * Settles an intent: it needs a call next, waits for something, or has its answer. An argument that depends on the
 * present time waits for a tool that tells the time; a mail waits for the answers that it contains. A call that failed
 * is made once more if the tool's message shows how; after that, its error is the answer.
 */
import { ask, tell } from './answer.ts'
import { type Content, contentOf } from './compose.ts'
import { findFacts } from './facts.ts'
import { type Field, fieldsOf } from './field.ts'
import { fill, type Filled } from './fill.ts'
import type { Intent } from './intent.ts'
import type { Moment } from './moment.ts'
import type { Profile } from './profile.ts'
import { isHeadline, tellUnsent } from './sent.ts'
import { type Done, isSame, type PlannedCall, timeIn } from './turn.ts'

export type Settled =
  | { readonly call: PlannedCall }
  /** The answer; `found` is false if it only says that something is missing, failed or was not found. */
  | { readonly answer: string; readonly found: boolean }
  /** The intent waits for the present time. */
  | { readonly waits: Intent }
  /** The intent waits for the answers that it is to send. */
  | { readonly held: Intent }

/** What the run knows so far. */
export interface Present {
  readonly done: readonly Done[]
  /** The tool that tells the time. */
  readonly clock: Profile | undefined
  /** The time to use if no tool tells it. */
  readonly otherwise: Moment | undefined
}

/**
 * Settles an intent. The same conversation always gives the same result, so a call that has a result is not repeated.
 */
export function settle(intent: Intent, present: Present): Settled {
  const { profile, reading, sources = [] } = intent
  const parts = sources.map((source) => settle(source, present))
  const answers = parts.flatMap((part) => ('answer' in part && part.found ? part.answer : []))
  if (answers.length < parts.length) {
    const isOver = parts.every((part) => 'answer' in part)
    return isOver ? { answer: tellUnsent(reading.han), found: false } : { held: intent }
  }
  const now = nowFor(intent, present)
  const questions = sources.map((source) => source.reading)
  const content = contentOf(questions, answers)
  const first = filled(intent, { now, content })
  if (first.missing.length > 0) return { answer: ask(first.missing, reading.han), found: false }
  if (first.needsNow) return { waits: intent }
  const call = callOf(profile, first.values)
  const result = present.done.find((old) => isSame(old, call) || isSameMail(old, call, profile))
  if (!result) return { call }
  const better = result.ok || profile.sends ? undefined : corrected(intent, result, now)
  const second = better && present.done.find((old) => isSame(old, better))
  if (better && !second) return { call: better }
  const { ok, text } = second ?? result
  return { answer: tell({ ...(second ?? result), reading, profile, now }), found: ok && !isNothing(text) }
}

/** Tells whether two calls send the same mail, apart from its body: a mail is not sent again in other words. */
function isSameMail(a: PlannedCall, b: PlannedCall, { sends, fields }: Profile): boolean {
  const cover = fields.filter(({ name, kind }) => kind !== 'text' || isHeadline(name))
  return sends && a.tool === b.tool && cover.every(({ name }) => a.arguments[name] === b.arguments[name])
}

/** Tells whether a result consists of empty lists only. */
function isNothing(text: string): boolean {
  const { lists = [] } = findFacts(text) ?? {}
  return lists.length > 0 && lists.every(({ rows }) => rows.length === 0)
}

interface Known {
  readonly now: Moment | undefined
  readonly content?: Content | undefined
  readonly fields?: readonly Field[]
}

/** Fills the arguments from the intent's own words, and what these lack from the whole message. */
function filled({ profile, reading, message }: Intent, { now, content, fields }: Known): Filled {
  const own = fill({ profile, reading, now, content }, fields)
  if (own.missing.length === 0) return own
  const when = reading.when ?? message.when
  const places = reading.places.length > 0 ? reading.places : message.places.slice(0, 1)
  return fill({ profile, reading: { ...reading, places, ...(when && { when }) }, now, content }, fields)
}

/** Returns the call that a tool's error message suggests instead, or undefined if it suggests none. */
function corrected(intent: Intent, failed: Done, now: Moment | undefined): PlannedCall | undefined {
  const { profile } = intent
  const meant = /\b(?:you mean|meant):? ?["'“‘`]([^"'”’`]+)["'”’`]/i.exec(failed.text)?.[1]
  const strings = Object.entries(failed.arguments).filter(([, value]) => typeof value === 'string')
  const [name] =
    strings.find(([name, value]) => failed.text.includes(String(value)) || failed.text.includes(name)) ??
    strings[0] ??
    []
  if (meant !== undefined && name !== undefined) return callOf(profile, { ...failed.arguments, [name]: meant })
  const again = filled(intent, { now, fields: fieldsOf(profile.definition.inputSchema, failed.text) })
  const call = callOf(profile, again.values)
  return again.missing.length > 0 || again.needsNow || isSame(call, failed) ? undefined : call
}

/**
 * Returns the call that tells the present time: the user's own, or that of the question's place if the clock requires
 * one.
 */
export function clockCall(clock: Profile, { reading }: Intent): PlannedCall {
  return callOf(clock, fill({ profile: clock, reading, forTime: true }).values)
}

/**
 * Returns the present time for an intent, once its own call of the clock has told it: the time of another intent may be
 * that of a city where it is another day.
 */
function nowFor(intent: Intent, { done, clock, otherwise }: Present): Moment | undefined {
  if (!clock) return otherwise
  const asked = clockCall(clock, intent)
  const told = done.filter((old) => isSame(old, asked))
  return timeIn(told) ?? (told.length > 0 ? otherwise : undefined)
}

export function callOf({ definition }: Profile, values: Readonly<Record<string, unknown>>): PlannedCall {
  return { tool: definition.name, arguments: values }
}
