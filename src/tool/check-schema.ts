import { isObject, type JsonObject } from '../contract/json.ts'
import type { DefinitionIssue } from '../contract/setup.ts'
import { patternFault } from './pattern.ts'
import { plainFault } from './plain.ts'
import { HOLDERS, resolveRef, subschemas } from './subschema.ts'
import { received } from './wording.ts'

const JSON_LIMITS = { depth: 64, values: 20_000, visible: true }
const MOST_LEVELS = 16
const MOST_SCHEMAS = 500
const MOST_ISSUES = 32

/**
 * What is wrong with a JSON Schema (2020-12 or draft-07) that is to be stored; empty where it is sound. Its root is
 * `type: "object"`, unless `root` is `any`. Beyond the meaning of each keyword: references are local and lead
 * somewhere, and not in circles; at most 16 levels and 500 schemas; patterns are safe to run (`patternFault`); no
 * invisible text. Unknown keywords and formats are left alone.
 */
export function checkSchema(schema: unknown, root: 'object' | 'any' = 'object'): DefinitionIssue[] {
  const fault = plainFault(schema, JSON_LIMITS)
  if (fault) return [fault]
  if (!isObject(schema)) return [{ path: '', message: `expected a schema, received ${received(schema)}` }]
  const issues: DefinitionIssue[] = []
  if (root === 'object' && schema['type'] !== 'object') {
    issues.push({ path: 'type', message: `expected "object" at the root, received ${received(schema['type'])}` })
  }
  const seen = new Map<JsonObject, string>()
  walk(schema, seen, issues)
  if (issues.length === 0) issues.push(...circles(schema, seen))
  return issues.slice(0, MOST_ISSUES)
}

interface Place {
  readonly schema: unknown
  readonly path: readonly string[]
  readonly level: number
}

/** Checks every schema that the root holds or refers to, and notes where each is. */
function walk(root: JsonObject, seen: Map<JsonObject, string>, issues: DefinitionIssue[]): void {
  const held: Place[] = [{ schema: root, path: [], level: 1 }]
  const referred: Place[] = []
  // What is only referred to comes last: by then, all that has a place of its own is known by that.
  for (const places of [held, referred]) {
    for (const { schema, path, level } of places) {
      if (typeof schema === 'boolean' || (isObject(schema) && seen.has(schema))) continue
      const at = path.join('.')
      if (!isObject(schema)) {
        issues.push({ path: at, message: `expected a schema, received ${received(schema)}` })
        continue
      }
      seen.set(schema, at)
      if (level > MOST_LEVELS) issues.push({ path: at, message: `expected at most ${MOST_LEVELS} levels of schemas` })
      if (seen.size > MOST_SCHEMAS) issues.push({ path: at, message: `expected at most ${MOST_SCHEMAS} schemas` })
      if (level > MOST_LEVELS || seen.size > MOST_SCHEMAS) return
      issues.push(...keywordIssues(schema, path))
      for (const inner of subschemas(schema)) {
        places.push({ schema: inner.schema, path: [...path, ...inner.path], level: level + 1 })
      }
      if (typeof schema['$ref'] !== 'string') continue
      const target = resolveRef(root, schema['$ref'])
      const from = [...path, '$ref']
      if (target !== undefined) referred.push({ schema: target, path: from, level: 1 })
      else issues.push({ path: from.join('.'), message: `${LOCAL}, received ${received(schema['$ref'])}` })
    }
  }
}

const LOCAL = 'expected a reference to a schema of this document (#/…)'

function keywordIssues(schema: JsonObject, path: readonly string[]): DefinitionIssue[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const expected = heldBy(keyword, value) ?? EXPECTATIONS.get(keyword)?.(value)
    if (expected !== undefined) {
      return [{ path: [...path, keyword].join('.'), message: `expected ${expected}, received ${received(value)}` }]
    }
    const patterns = keyword === 'pattern' ? [value] : keyword === 'patternProperties' ? Object.keys(Object(value)) : []
    return patterns.flatMap((pattern) => {
      const message = patternFault(String(pattern))
      const at = keyword === 'pattern' ? [keyword] : [keyword, String(pattern)]
      return message === undefined ? [] : [{ path: [...path, ...at].join('.'), message }]
    })
  })
}

/** What a keyword that holds schemas should have been; the schemas themselves are looked at one by one. */
function heldBy(keyword: string, value: unknown): string | undefined {
  const holder = HOLDERS.get(keyword)
  if (holder === 'list') return Array.isArray(value) && value.length > 0 ? undefined : 'a list of schemas, not empty'
  if (holder !== 'map') return undefined
  if (!isObject(value)) return 'an object of schemas'
  if (keyword !== 'dependencies') return undefined
  return Object.values(value).every((inner) => !Array.isArray(inner) || isNames(inner)) ? undefined : 'names of keys'
}

type Expectation = (value: unknown) => string | undefined

function expects(what: string, holds: (value: unknown) => boolean): Expectation {
  return (value) => (holds(value) ? undefined : what)
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']

const text = expects('text', (value) => typeof value === 'string')
const flag = expects('true or false', (value) => typeof value === 'boolean')
const number = expects('a number', (value) => typeof value === 'number')
const bound = expects('a number', (value) => typeof value === 'number' || typeof value === 'boolean')
const count = expects('a whole number from 0', (value) => Number.isSafeInteger(value) && Number(value) >= 0)
const unsupported = expects('$ref in its place', () => false)

const EXPECTATIONS: ReadonlyMap<string, Expectation> = new Map([
  ['type', expects(`one of ${TYPES.join(', ')}, or a list of them`, isType)],
  ['enum', expects('a list of values, not empty', (value) => Array.isArray(value) && value.length > 0)],
  ['required', expects('a list of names', isNames)],
  ['dependentRequired', expects('lists of names', (value) => isObject(value) && Object.values(value).every(isNames))],
  ['multipleOf', expects('a number over 0', (value) => typeof value === 'number' && value > 0)],
  ...entries(['minimum', 'maximum'], number),
  // Booleans are what draft-04 and OpenAPI 3.0 write here.
  ...entries(['exclusiveMinimum', 'exclusiveMaximum'], bound),
  ...entries(['minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains'], count),
  ...entries(['minProperties', 'maxProperties'], count),
  ...entries(['pattern', 'format', 'title', 'description', '$schema', '$ref'], text),
  ...entries(['uniqueItems', 'nullable'], flag),
  ...entries(['$dynamicRef', '$recursiveRef'], unsupported),
])

function entries(keywords: readonly string[], expectation: Expectation): [string, Expectation][] {
  return keywords.map((keyword) => [keyword, expectation])
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

function isType(value: unknown): boolean {
  if (!Array.isArray(value)) return typeof value === 'string' && TYPES.includes(value)
  return value.length > 0 && value.every((type) => typeof type === 'string' && TYPES.includes(type))
}

/** References that lead back to themselves without a step into the value: such a schema can never be checked. */
function circles(root: JsonObject, seen: ReadonlyMap<JsonObject, string>): DefinitionIssue[] {
  const done = new Set<unknown>()
  const visit = (schema: unknown, above: ReadonlySet<unknown>): unknown => {
    if (!isObject(schema) || done.has(schema)) return undefined
    if (above.has(schema)) return schema
    const path = new Set([...above, schema])
    const next = subschemas(schema).flatMap((inner) => (inner.sameValue ? [inner.schema] : []))
    if (typeof schema['$ref'] === 'string') next.push(resolveRef(root, schema['$ref']))
    const found = next.map((inner) => visit(inner, path)).find((inner) => inner !== undefined)
    done.add(schema)
    return found
  }
  for (const [schema, path] of seen) {
    if (visit(schema, new Set()) !== undefined) {
      return [{ path, message: 'expected a reference that steps into the value, not one that leads back to itself' }]
    }
  }
  return []
}
