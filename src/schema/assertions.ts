import { canonicalJson, isObject, type JsonObject } from '../contract/json.ts'
import { HOLDS } from '../contract/subschemas.ts'

/** Keywords that can reject a value. All others only describe it. */
export const ASSERTING: ReadonlySet<string> = new Set(
  (
    '$ref $dynamicRef type nullable enum const format pattern multipleOf uniqueItems required properties items ' +
    'minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems minContains maxContains ' +
    'minProperties maxProperties additionalItems additionalProperties contains else if not propertyNames then ' +
    'unevaluatedItems unevaluatedProperties allOf anyOf oneOf prefixItems dependencies dependentSchemas ' +
    'dependentRequired patternProperties'
  ).split(' '),
)

const NAMING = new Set(['$defs', 'definitions', '$id', '$anchor', '$dynamicAnchor'])

/** Copies a schema without the keywords that check nothing, at all levels, unless a reference leads through them. */
export function asserted(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const assertions = Object.entries(schema).filter(([keyword]) => ASSERTING.has(keyword) || NAMING.has(keyword))
  return Object.fromEntries(assertions.map(([keyword, value]) => [keyword, assertedIn(keyword, value)]))
}

function assertedIn(keyword: string, value: unknown): unknown {
  if (keyword === 'items' && isObject(value)) return asserted(value)
  const holds = HOLDS.get(keyword)
  if (holds === 'one') return asserted(value)
  if (holds === 'list' && Array.isArray(value)) return value.map(asserted)
  if (holds !== 'map' || !isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asserted(inner)]))
}

/** Returns a text that is equal for two schemas with the same assertions in the same keywords. */
export function bareText(schema: unknown): string {
  return canonicalJson(asserted(schema)) ?? ''
}

/** Returns the only values that can fit, if the schema lists them. */
export function valuesOf({ const: only, enum: list, type }: JsonObject): readonly unknown[] | undefined {
  if (only !== undefined) return [only]
  if (Array.isArray(list)) return list
  if (type === 'boolean') return [true, false]
  return type === 'null' ? [null] : undefined
}

const KINDS = ['null', 'boolean', 'number', 'string', 'array', 'object']

/** Returns the types that a value may have. */
export function kindsOf({ type, nullable }: JsonObject): string[] {
  if (type === undefined) return KINDS
  return [...new Set([[type].flat().map(String), nullable === true ? 'null' : []].flat())]
}

type Misfit = readonly [keyword: string, message: string]

/** Keywords that are compared as a whole: each must be the same in the schema `to`, or absent there. */
const UNSPLIT = [
  'not if then else contains minContains maxContains prefixItems additionalItems propertyNames patternProperties',
  'dependencies dependentSchemas dependentRequired unevaluatedItems unevaluatedProperties pattern format',
].flatMap((names) => names.split(' '))

/**
 * Pairs of keywords. The first must not be removed while the second is restrictive: the second would then apply to
 * more.
 */
const COUPLED: readonly (readonly [keyword: string, reach: string])[] = [
  ['patternProperties', 'additionalProperties'],
  ['prefixItems', 'items'],
]

/** Returns where the keywords of `to` are stricter than those of `from`, except keywords with schemas for parts. */
export function misfitsOf(
  from: JsonObject,
  to: JsonObject,
  isSame: (one: unknown, other: unknown) => boolean,
): Misfit[] {
  const isText = kindsOf(from).includes('string')
  const changed = UNSPLIT.filter((keyword) => {
    if ((keyword === 'pattern' || keyword === 'format') && !isText) return false
    const isInert = keyword === 'then' || keyword === 'else' ? to['if'] === undefined : false
    return to[keyword] !== undefined && !isInert && !isSame({ [keyword]: from[keyword] }, { [keyword]: to[keyword] })
  })
  const uncovered = COUPLED.filter(([keyword, reach]) => {
    const isFree = to[reach] === undefined || to[reach] === true
    return from[keyword] !== undefined && to[keyword] === undefined && !isFree
  }).map(([keyword]) => keyword)
  const tuple =
    [from['items'], to['items']].some(Array.isArray) && !isSame({ items: from['items'] }, { items: to['items'] })
  const unevaluated = ['unevaluatedItems', 'unevaluatedProperties'].filter(
    (keyword) => to[keyword] !== undefined && !isSame(from, to),
  )
  const other = new Set([...changed, ...uncovered, ...(tuple ? ['items'] : []), ...unevaluated])
  const values: Misfit[] =
    to['enum'] !== undefined || to['const'] !== undefined ? [['enum', 'only some values now']] : []
  return [...typeMisfits(from, to), ...values, ...boundMisfits(from, to), ...[...other].map(changedMisfit)]
}

function changedMisfit(keyword: string): Misfit {
  return [keyword, 'is another']
}

function typeMisfits(from: JsonObject, to: JsonObject): Misfit[] {
  const allowedKinds = kindsOf(to)
  const lost = kindsOf(from).filter(
    (kind) => !allowedKinds.includes(kind) && !(kind === 'integer' && allowedKinds.includes('number')),
  )
  return lost.length > 0 ? [['type', `takes no ${lost.join(' and no ')} any more`]] : []
}

const SIZES = [
  ['string', 'minLength', 'maxLength'],
  ['array', 'minItems', 'maxItems'],
  ['object', 'minProperties', 'maxProperties'],
] as const

function boundMisfits(from: JsonObject, to: JsonObject): Misfit[] {
  const kinds = kindsOf(from)
  const isNumeric = kinds.includes('number') || kinds.includes('integer')
  const number = (schema: JsonObject, keyword: string, none: number) => {
    const { [keyword]: value } = schema
    return typeof value === 'number' ? value : none
  }
  const misfits: Misfit[] = SIZES.filter(([kind]) => kinds.includes(kind)).flatMap(([, least, most]) => [
    ...(number(to, least, 0) > number(from, least, 0) ? [[least, 'is more'] as const] : []),
    ...(number(to, most, Infinity) < number(from, most, Infinity) ? [[most, 'is less'] as const] : []),
  ])
  if (kinds.includes('array') && to['uniqueItems'] === true && from['uniqueItems'] !== true) {
    misfits.push(['uniqueItems', 'items must be unique now'])
  }
  if (!isNumeric) return misfits
  const [step, steps] = [number(to, 'multipleOf', 0), number(from, 'multipleOf', 0)]
  const integers = kinds.includes('number') ? 0 : 1
  if (step > 0 && step !== steps && !isWholeTimes(steps || integers, step)) misfits.push(['multipleOf', 'is another'])
  if (isTighter(lowest(from), lowest(to))) misfits.push(['minimum', 'is more'])
  if (isTighter(lowest(from, -1), lowest(to, -1))) misfits.push(['maximum', 'is less'])
  return misfits
}

/** Returns whether a size is a multiple of a step. False for decimals, since division of those is not exact. */
function isWholeTimes(size: number, step: number): boolean {
  return Number.isInteger(size) && Number.isInteger(step) && size > 0 && size % step === 0
}

interface NumberBound {
  readonly at: number
  readonly isExclusive: boolean
}

/** Returns the lower bound, or with `sign` -1 the negated upper bound. Draft-04 makes `minimum` exclusive by a flag. */
function lowest(schema: JsonObject, sign: 1 | -1 = 1): NumberBound {
  const [plain, strict] = sign === 1 ? ['minimum', 'exclusiveMinimum'] : ['maximum', 'exclusiveMaximum']
  const { [plain]: limit, [strict]: exclusive } = schema
  const at = typeof limit === 'number' ? limit * sign : -Infinity
  if (typeof exclusive !== 'number') return { at, isExclusive: exclusive === true }
  const beyond = exclusive * sign
  return beyond >= at ? { at: beyond, isExclusive: true } : { at, isExclusive: false }
}

function isTighter(from: NumberBound, to: NumberBound): boolean {
  return to.at > from.at || (to.at === from.at && to.isExclusive && !from.isExclusive && to.at !== -Infinity)
}
