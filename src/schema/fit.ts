import { isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { documentOf } from './document.ts'
import {
  evaluatedKeys,
  fitAll,
  likeliest,
  type Look,
  type Misfit,
  misfit,
  MOST_REASONS,
  reportMisfit,
  startLook,
  type ValuePart,
} from './check.ts'
import type { Rule, Union } from './rule.ts'
import { describeSchema } from './issue.ts'
import { MOST_WORK, spend, WorkError } from './pattern.ts'

const MOST_DEPTH = 500

/**
 * Returns the reasons why a value does not fit a schema: the innermost ones, and for a union those of the branch that
 * was meant. Empty if it fits. Implements JSON Schema 2020-12, draft-07 if `$schema` names it, and `nullable` and
 * boolean exclusive bounds of OpenAPI 3.0. Expects a schema that `checkSchema` found sound, and a value of bounded
 * depth. Throws a WorkError for a value that takes too much work to check, and a TypeError for a reference without a
 * target.
 */
export function misfits(schema: JsonSchema | boolean, value: unknown): Misfit[] {
  const document = documentOf(schema)
  if (fitsSchema(startLook(document), document.root, value)) return []
  const reasons: Misfit[] = []
  const at = { value, reasons, evaluated: evaluatedKeys(document) }
  try {
    // Reasons are collected in a second pass, so that values that fit do not pay for them.
    fit(startLook(document, MOST_WORK / 4), document.root, at)
  } catch (error) {
    if (!(error instanceof WorkError)) throw error
  }
  return reasons.length > 0 ? reasons : [misfit('schema', at, describeSchema(document, document.root))]
}

/** Returns whether a value fits a schema of the document of `look`. Throws as `misfits` does. */
export function fitsSchema(look: Look, schema: unknown, value: unknown): boolean {
  return fit(look, schema, { value, reasons: undefined, evaluated: evaluatedKeys(look.document) })
}

function fit(look: Look, schema: unknown, at: ValuePart): boolean {
  spend(look, 1)
  if (schema === false) return reportMisfit(at, 'false', () => 'nothing here')
  if (!isObject(schema)) return true
  if (look.depth >= MOST_DEPTH) throw new WorkError()
  const rule = look.document.rule(schema)
  const base = look.document.isDynamic ? look.document.baseOf(schema) : undefined
  if (base !== undefined) look.scope.push(base)
  look.depth += 1
  const isFit = fitAll(APPLIERS, at, (apply) => apply(look, rule, at))
  look.depth -= 1
  if (base !== undefined) look.scope.pop()
  return isFit
}

/** Applies the keywords of a kind; false if one of them is not satisfied. */
type Apply = (look: Look, rule: Rule, at: ValuePart) => boolean

/** In this order; `unevaluated…` is last, since it applies to the parts that no other keyword has evaluated. */
const APPLIERS: readonly Apply[] = [
  ...[fitRefs, fitChecks, fitPattern],
  ...[fitRequired, fitDependents, fitEntries, fitItems, fitContains],
  ...[fitAllOf, fitAnyOf, fitOneOf, fitNot, fitIf],
  fitUnevaluated,
]

/** Checks the same value against another schema. The keys that it evaluates count only if the value fits it. */
function fitHere(look: Look, schema: unknown, at: ValuePart): boolean {
  const { evaluated } = at
  if (!evaluated) return fit(look, schema, at)
  const inner = new Set<string>()
  if (!fit(look, schema, { ...at, evaluated: inner })) return false
  for (const key of inner) evaluated.add(key)
  return true
}

/** Checks the same value against another schema without a reason. */
function fitsHere(look: Look, schema: unknown, at: ValuePart): boolean {
  return fitHere(look, schema, at.reasons ? { ...at, reasons: undefined } : at)
}

/** Checks a part of the value against a schema. */
function fitPart(look: Look, schema: unknown, parent: ValuePart, [key, value]: readonly [string, unknown]): boolean {
  parent.evaluated?.add(key)
  return fit(look, schema, { value, key, parent, reasons: parent.reasons, evaluated: evaluatedKeys(look.document) })
}

function fitRefs(look: Look, { refs, source }: Rule, at: ValuePart): boolean {
  return fitAll(refs, at, (ref) => {
    const isDynamic = source['$dynamicRef'] === ref
    const target = isDynamic
      ? look.document.resolveDynamic(source, ref, look.scope)
      : look.document.resolve(source, ref)
    if (target === undefined) throw new TypeError(`no schema is at ${ref}`)
    return fitHere(look, target, at)
  })
}

function fitChecks(look: Look, { checks }: Rule, at: ValuePart): boolean {
  return fitAll(checks, at, ({ keyword, holds, expected }) => {
    spend(look, 1)
    return holds(at.value, look) || reportMisfit(at, keyword, expected)
  })
}

function fitPattern(look: Look, { schema: { pattern } }: Rule, at: ValuePart): boolean {
  if (typeof pattern !== 'string' || typeof at.value !== 'string') return true
  return (
    runPattern(look, pattern, at.value) !== false ||
    reportMisfit(at, 'pattern', () => `text that matches /${pattern}/u`)
  )
}

function runPattern(look: Look, pattern: string, text: string): boolean | undefined {
  const isMatch = look.document.matcher(pattern)(text, look)
  if (isMatch === undefined) look.unsure += 1
  return isMatch
}

function fitRequired(look: Look, rule: Rule, at: ValuePart): boolean {
  return requireKeys(look, rule, at, rule.required)
}

function requireKeys(look: Look, { properties }: Rule, at: ValuePart, names: readonly string[]): boolean {
  const { value } = at
  if (!isObject(value)) return true
  return fitAll(names, at, (key) => {
    spend(look, 1 / 2)
    if (hasKey(value, key)) return true
    const missing = { ...at, value: undefined, key, parent: at }
    return reportMisfit(missing, 'required', () => describeSchema(look.document, properties.get(key)))
  })
}

/** Over RPC a key may arrive with the value undefined, which JSON would omit. */
function hasKey(value: JsonObject, key: string): boolean {
  return Object.hasOwn(value, key) && value[key] !== undefined
}

function fitDependents(look: Look, rule: Rule, at: ValuePart): boolean {
  const { value } = at
  if (!isObject(value)) return true
  return fitAll(rule.dependents, at, ([key, needs]) => {
    spend(look, 1)
    if (!hasKey(value, key)) return true
    return 'schema' in needs ? fitHere(look, needs.schema, at) : requireKeys(look, rule, at, needs)
  })
}

function fitEntries(look: Look, rule: Rule, at: ValuePart): boolean {
  const { value } = at
  if (!rule.hasKeys || !isObject(value)) return true
  const keys = Object.keys(value)
  // Listing the keys takes work, even if the first of them does not fit.
  spend(look, keys.length / 2)
  return fitAll(keys, at, (key) => {
    spend(look, 1 / 2)
    if (value[key] === undefined) return true
    const isNamed = fitName(look, rule, at, key)
    return fitAll(schemasOf(look, rule, key), at, (inner) => fitPart(look, inner, at, [key, value[key]])) && isNamed
  })
}

function fitName(look: Look, { schema: { propertyNames } }: Rule, parent: ValuePart, key: string): boolean {
  if (propertyNames === undefined) return true
  const reasons: Misfit[] | undefined = parent.reasons && []
  const isFit = fit(look, propertyNames, { value: key, key, parent, reasons, evaluated: evaluatedKeys(look.document) })
  for (const each of reasons ?? []) parent.reasons?.push({ ...each, expected: `the name to be ${each.expected}` })
  return isFit
}

/** Returns the schemas for the value of a key. */
function schemasOf(look: Look, { properties, patternProperties, schema }: Rule, key: string): readonly unknown[] {
  const { additionalProperties } = schema
  const schemas = properties.has(key) ? [properties.get(key)] : []
  for (const [pattern, inner] of patternProperties) {
    const isMatch = runPattern(look, pattern, key)
    // A pattern that was not run may match the key, so the key must not count as an additional one.
    if (isMatch !== false) schemas.push(isMatch ? inner : true)
  }
  return schemas.length > 0 || additionalProperties === undefined ? schemas : [additionalProperties]
}

function fitItems(look: Look, { first, rest }: Rule, at: ValuePart): boolean {
  const { value } = at
  if (!Array.isArray(value)) return true
  const items: readonly unknown[] = rest === undefined ? value.slice(0, first.length) : value
  return fitAll(items.keys(), at, (index) => {
    return fitPart(look, index < first.length ? first[index] : rest, at, [String(index), items[index]])
  })
}

function fitContains(look: Look, { schema }: Rule, at: ValuePart): boolean {
  const { contains, minContains = 1, maxContains = Infinity } = schema
  if (contains === undefined || !Array.isArray(at.value)) return true
  const { unsure } = look
  let fitting = 0
  for (const [index, item] of at.value.entries()) {
    if (!fitsSchema(look, contains, item)) continue
    fitting += 1
    at.evaluated?.add(String(index))
  }
  const words = () => `items that are ${describeSchema(look.document, contains)}`
  if (fitting < Number(minContains))
    return reportMisfit(at, 'contains', () => `at least ${String(minContains)} ${words()}`)
  const isOver = fitting > Number(maxContains) && look.unsure === unsure
  return !isOver || reportMisfit(at, 'contains', () => `at most ${String(maxContains)} ${words()}`)
}

function fitAllOf(look: Look, { allOf }: Rule, at: ValuePart): boolean {
  return fitAll(allOf, at, (inner) => fitHere(look, inner, at))
}

function fitAnyOf(look: Look, { anyOf }: Rule, at: ValuePart): boolean {
  if (!anyOf) return true
  let isFit = false
  for (const branch of anyOf.candidates(at.value)) {
    isFit = fitsHere(look, branch, at) || isFit
    // If evaluated keys are collected, all branches must be checked for theirs.
    if (isFit && !at.evaluated) break
  }
  return isFit || refuseUnion(look, 'anyOf', anyOf, at)
}

function fitOneOf(look: Look, { oneOf }: Rule, at: ValuePart): boolean {
  if (!oneOf) return true
  const { unsure } = look
  const fitting = oneOf.candidates(at.value).filter((branch) => fitsHere(look, branch, at)).length
  if (fitting === 1 || (fitting > 1 && look.unsure > unsure)) return true
  return fitting === 0
    ? refuseUnion(look, 'oneOf', oneOf, at)
    : reportMisfit(at, 'oneOf', () => describeSchema(look.document, { anyOf: oneOf.branches }))
}

/** With more branches than this, no guess is made at which one was meant: it would rarely be right. */
const MOST_MEANT = 20

/** Gives the reasons of the branch that was meant, or names all branches. */
function refuseUnion(look: Look, keyword: string, union: Union, at: ValuePart): false {
  if (!at.reasons) return false
  const branches = union.candidates(at.value)
  const reasonsByBranch = (branches.length > MOST_MEANT ? [] : branches).map((branch) => {
    const reasons: Misfit[] = []
    fit(look, branch, { ...at, reasons, evaluated: evaluatedKeys(look.document) })
    return reasons
  })
  const likely = likeliest(reasonsByBranch, at)
  if (!likely) return reportMisfit(at, keyword, () => describeSchema(look.document, { anyOf: union.branches }))
  at.reasons.push(...likely.slice(0, MOST_REASONS - at.reasons.length))
  return false
}

function fitNot(look: Look, { schema: { not } }: Rule, at: ValuePart): boolean {
  const { unsure } = look
  if (not === undefined || !fitsSchema(look, not, at.value) || look.unsure > unsure) return true
  return reportMisfit(at, 'not', () => {
    const isAnything = !isObject(not) || Object.keys(not).length === 0
    return isAnything ? 'nothing here' : `nothing that fits ${textOf(not)}`
  })
}

/** The JSON of schemas that a message names. */
const texts = new WeakMap<JsonObject, string>()

function textOf(schema: JsonObject): string {
  const text = texts.get(schema) ?? JSON.stringify(schema)
  texts.set(schema, text)
  return text
}

function fitIf(look: Look, { schema }: Rule, at: ValuePart): boolean {
  const { if: condition, then = true, else: otherwise = true } = schema
  if (condition === undefined) return true
  const { unsure } = look
  if (!fitsHere(look, condition, at)) return fitHere(look, otherwise, at)
  return look.unsure > unsure || fitHere(look, then, at)
}

function fitUnevaluated(look: Look, { schema }: Rule, at: ValuePart): boolean {
  const { value, evaluated } = at
  if (!evaluated || typeof value !== 'object' || value === null) return true
  const rest = isObject(value) ? schema['unevaluatedProperties'] : schema['unevaluatedItems']
  if (rest === undefined) return true
  const entries = Object.entries(value)
  spend(look, entries.length)
  return fitAll(entries, at, (entry) => evaluated.has(entry[0]) || fitPart(look, rest, at, entry))
}
