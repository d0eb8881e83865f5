import type { DefinitionIssue } from '../contract/definition.ts'
import { isObject, MOST_SCHEMA_CHARACTERS } from '../contract/json.ts'
import { documentOf, plainFault, type SchemaDocument, type SchemaPlace, subschemas } from './document.ts'
import { received } from './issue.ts'
import { refsOf, SOUND } from './keywords.ts'
import { MOST_WORK, startWork, type Work } from './pattern.ts'

const JSON_LIMITS = { depth: 64, values: 20_000, visible: 'schema', proto: true } as const
const MOST_LEVELS = 16
const MOST_SCHEMAS = 500
const MOST_ISSUES = 32

/**
 * Returns the faults of a JSON Schema (2020-12 or draft-07) before it is stored; none if it is sound. Its root must be
 * `type: "object"`, unless `root` is `any`. It checks the value of each keyword; that each reference leads to a schema
 * of the same document and never back to itself; that there are at most 16 levels, 500 schemas and 500,000 characters;
 * and that no text has invisible characters. Unknown keywords and formats are ignored, and patterns are not checked.
 */
export function checkSchema(schema: unknown, root: 'object' | 'any' = 'object'): DefinitionIssue[] {
  const fault = plainFault(schema, JSON_LIMITS)
  if (fault) return [fault]
  if (typeof schema === 'boolean' && root === 'any') return []
  if (!isObject(schema)) return [issue([], 'a schema', schema)]
  const { type } = schema
  if (JSON.stringify(schema).length > MOST_SCHEMA_CHARACTERS)
    return [{ path: '', message: `expected at most ${MOST_SCHEMA_CHARACTERS} characters of JSON` }]
  const issues = root === 'object' && type !== 'object' ? [issue(['type'], '"object" at the root', type)] : []
  const document = documentOf(schema)
  // The list grows during the loop: a reference may lead to a place where no keyword holds a schema.
  for (const [index, place] of document.places.entries()) {
    const most = place.level > MOST_LEVELS ? `${MOST_LEVELS} levels of schemas` : `${MOST_SCHEMAS} schemas`
    if (place.level > MOST_LEVELS || index >= MOST_SCHEMAS) {
      issues.push({ path: place.path.join('.'), message: `expected at most ${most}` })
      break
    }
    issues.push(...issuesAt(place, document))
  }
  if (issues.length === 0) issues.push(...circles(document))
  return issues.slice(0, MOST_ISSUES)
}

function issue(path: readonly string[], expected: string, value: unknown): DefinitionIssue {
  return { path: path.join('.'), message: `expected ${expected}, received ${received(value)}` }
}

function issuesAt({ schema, path }: SchemaPlace, document: SchemaDocument): DefinitionIssue[] {
  if (typeof schema === 'boolean') return []
  if (!isObject(schema)) return [issue(path, 'a schema', schema)]
  const unsound = Object.entries(schema).flatMap(([keyword, value]) => {
    const [expected = '', isSound] = SOUND.get(keyword) ?? []
    return isSound?.(value) === false ? [issue([...path, keyword], expected, value)] : []
  })
  const lost = refsOf(schema).flatMap((ref) => {
    const from = [...path, '$ref']
    const target = document.resolve(schema, ref)
    if (target === undefined) return [issue(from, 'a reference to a schema of this document (#/…)', ref)]
    document.add(target, from, document.addressOf(schema, ref))
    return []
  })
  return [...unsound, ...lost]
}

/** Finds a reference that leads back to itself without a step into the value, so that a check would never end. */
function circles(document: SchemaDocument): DefinitionIssue[] {
  const open = new Set<unknown>()
  const done = new Set<unknown>()
  const leadsBack = (schema: unknown): boolean => {
    if (!isObject(schema) || done.has(schema)) return false
    if (open.has(schema)) return true
    open.add(schema)
    const within = subschemas(schema).flatMap((inner) => (inner.sameValue ? [inner.schema] : []))
    const isCircle = [...within, ...refsOf(schema).map((ref) => document.resolve(schema, ref))].some(leadsBack)
    open.delete(schema)
    done.add(schema)
    return isCircle
  }
  const first = document.places.find(({ schema }) => leadsBack(schema))
  if (!first) return []
  const message = 'expected a reference that steps into the value, not one that leads back to itself'
  return [{ path: first.path.join('.'), message }]
}

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

/** A part of the value that is checked: the value, and where it is. */
export interface ValuePlace {
  readonly value: unknown
  /** The key or index of this part in `parent`. */
  readonly key?: string
  readonly parent?: ValuePlace
}

/** A reason why a value does not fit a schema. */
export interface Misfit {
  /** Keys from the root value to the part that does not fit. */
  readonly keys: readonly string[]
  /** The keyword that is not satisfied. */
  readonly keyword: string
  /** What the keyword expects, such as `at least 3`. */
  readonly expected: string
  readonly received: string
}

const MOST_CHARACTERS = 300

export function misfit(keyword: string, at: ValuePlace, expected: string): Misfit {
  const words = expected.length > MOST_CHARACTERS ? `${expected.slice(0, MOST_CHARACTERS)}…` : expected
  return { keys: keysOf(at), keyword, expected: words, received: received(at.value) }
}

function keysOf(place: ValuePlace): string[] {
  const keys: string[] = []
  for (let at: ValuePlace | undefined = place; at?.key !== undefined; at = at.parent) keys.push(at.key)
  return keys.reverse()
}

/**
 * Returns the misfits of the branch of a union that was meant. That is the branch whose type and distinguishing
 * constants the value at `at` has; if there are several, the one whose required keys it has. Undefined if no branch, or
 * more than one, could be meant.
 */
export function likeliest(branches: readonly Misfit[][], at: ValuePlace): Misfit[] | undefined {
  const { length } = keysOf(at)
  const without = (from: readonly Misfit[][], below: Readonly<Record<string, number>>) =>
    from.filter((branch) => branch.every((each) => each.keys.length > length + (below[each.keyword] ?? -1)))
  const ofKind = without(branches, { type: 0, const: 1, enum: 1 })
  const complete = ofKind.length === 1 ? ofKind : without(ofKind, { required: 1 })
  return complete.length === 1 ? complete[0] : undefined
}
