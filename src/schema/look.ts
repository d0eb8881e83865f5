import type { SchemaDocument } from './document.ts'
import { type Misfit, misfit, type ValuePlace } from './misfit.ts'
import { MOST_WORK, startWork, type Work } from './work.ts'

/** The state of one check of a value against a schema. */
export interface Look extends Work {
  readonly document: SchemaDocument
  /**
   * How many patterns were not run. A fit that depends on one must not count against the value, as it would under
   * `not`.
   */
  unsure: number
  /** The depth of the schemas that are being applied, each inside the one before. */
  depth: number
  /** The schema resources that lead to the current schema, for `$dynamicRef`; empty if the document has none. */
  readonly scope: string[]
}

/**
 * The keys and indexes that schemas have evaluated; present if the document has `unevaluatedProperties` or the like.
 */
type EvaluatedKeys = Set<string> | undefined
/** Collects the reasons. Without it, a check ends at the first misfit. */
type Reasons = Misfit[] | undefined

/** A part of the value as one schema sees it. */
export interface ValuePart extends ValuePlace {
  readonly evaluated: EvaluatedKeys
  readonly reasons: Reasons
}

/** The most reasons that a check gives. */
export const MOST_REASONS = 40

/** Begins a check that may take so many units of work. */
export function startLook(document: SchemaDocument, unitsLeft = MOST_WORK): Look {
  return { ...startWork(unitsLeft), document, unsure: 0, depth: 0, scope: [] }
}

/** Returns a collection for the keys that schemas evaluate; undefined if the document does not need it. */
export function evaluatedKeys({ tracksEvaluated }: SchemaDocument): EvaluatedKeys {
  return tracksEvaluated ? new Set() : undefined
}

/** Runs checks in order; ends as soon as the value does not fit and enough reasons are collected. */
export function fitAll<Each>(all: Iterable<Each>, { reasons }: ValuePart, check: (each: Each) => boolean): boolean {
  let isFit = true
  for (const each of all) {
    if (check(each)) continue
    isFit = false
    if (!reasons || reasons.length >= MOST_REASONS) break
  }
  return isFit
}

/** Notes the reason why a part does not fit, if reasons are wanted. */
export function reportMisfit(at: ValuePart, keyword: string, expected: () => string): false {
  const { reasons } = at
  if (reasons && reasons.length < MOST_REASONS) reasons.push(misfit(keyword, at, expected()))
  return false
}
