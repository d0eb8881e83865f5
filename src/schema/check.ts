import { isObject } from '../contract/json.ts'
import type { DefinitionIssue } from '../contract/definition.ts'
import { received } from './issue.ts'
import { plainFault } from './plain-json.ts'
import { documentOf, type SchemaDocument, type SchemaPlace, subschemas } from './document.ts'
import { refsOf, SOUND } from './keywords.ts'

const JSON_LIMITS = { depth: 64, values: 20_000, visible: 'schema', proto: true } as const
const MOST_LEVELS = 16
const MOST_SCHEMAS = 500
const MOST_ISSUES = 32

/**
 * Returns the faults of a JSON Schema (2020-12 or draft-07) before it is stored; none if it is sound. Its root must be
 * `type: "object"`, unless `root` is `any`. It checks the value of each keyword; that each reference leads to a schema
 * of the same document and never back to itself; that there are at most 16 levels and 500 schemas; and that no text has
 * invisible characters. Unknown keywords and formats are ignored, and patterns are not checked.
 */
export function checkSchema(schema: unknown, root: 'object' | 'any' = 'object'): DefinitionIssue[] {
  const fault = plainFault(schema, JSON_LIMITS)
  if (fault) return [fault]
  if (typeof schema === 'boolean' && root === 'any') return []
  if (!isObject(schema)) return [issue([], 'a schema', schema)]
  const { type } = schema
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
