import * as v from 'valibot'
import { TOOL_NAME } from '../contract/id.ts'
import { isObject } from '../contract/json.ts'
import type { DefinitionIssue } from '../contract/setup.ts'
import { checkSchema } from './check-schema.ts'
import { checkHttpCall, HTTP_CALL } from './http-call.ts'
import { plainFault } from './plain.ts'

const text = (most: number) => v.pipe(v.string(), v.nonEmpty(), v.maxLength(most))
const count = v.pipe(v.number(), v.integer(), v.minValue(1))
const schema = v.record(v.string(), v.unknown())

const COMMON = {
  name: v.pipe(v.string(), v.regex(TOOL_NAME)),
  title: v.exactOptional(text(128)),
  description: v.pipe(text(1024), v.regex(/\S/)),
  inputSchema: schema,
  outputSchema: v.exactOptional(schema),
  version: v.exactOptional(text(64)),
  annotations: v.exactOptional(
    v.strictObject({
      readOnly: v.exactOptional(v.boolean()),
      idempotent: v.exactOptional(v.boolean()),
      destructive: v.exactOptional(v.boolean()),
      openWorld: v.exactOptional(v.boolean()),
    }),
  ),
  default: v.exactOptional(v.boolean()),
  returnDirect: v.exactOptional(v.picklist(['always', 'if-last'])),
  approval: v.exactOptional(v.picklist(['never', 'always'])),
  timeoutMs: v.exactOptional(count),
  maxResultBytes: v.exactOptional(count),
  tags: v.exactOptional(v.pipe(v.array(text(64)), v.maxLength(32))),
}

const HTTP_TOOL = v.strictObject({ ...COMMON, http: HTTP_CALL })
const FACE = v.strictObject({
  ...COMMON,
  binding: v.pipe(v.string(), v.regex(/^TOOL_[A-Z0-9_]+$/)),
  call: v.pipe(v.string(), v.regex(TOOL_NAME)),
})
const STATIC_TOOL = v.strictObject({
  ...COMMON,
  static: v.union(
    [v.strictObject({ text: v.string() }), v.strictObject({ structured: v.unknown() })],
    'expected either { text } or { structured }',
  ),
})

/** A tool that sends one HTTP request and answers with what came back. */
export type StoredHttpTool = Readonly<v.InferOutput<typeof HTTP_TOOL>>
/** A tool of a tool Worker under another name, with another description and schema. */
export type StoredFace = Readonly<v.InferOutput<typeof FACE>>
/** A tool that always answers the same. */
export type StoredStaticTool = Readonly<v.InferOutput<typeof STATIC_TOOL>>
/** A KV-backed definition (API.md §3), checked. */
export type StoredTool = StoredHttpTool | StoredFace | StoredStaticTool

export type ParsedStored =
  | { readonly ok: true; readonly stored: StoredTool }
  | { readonly ok: false; readonly issues: readonly DefinitionIssue[] }

const LIMITS = { depth: 64, values: 20_000, visible: true }

/**
 * Checks a definition that is to be stored, or was. Of one kind alone (`http`, `binding` or `static`), no key unknown,
 * schemas sound, requests safe but for their host: that is a matter of the deployment (`checkHosts`). Issues name the
 * path in the definition. Never throws, whatever the value.
 */
export function parseStored(value: unknown): ParsedStored {
  const fault = plainFault(value, LIMITS)
  if (fault) return { ok: false, issues: [fault] }
  const kinds = isObject(value) ? KINDS.filter(({ key }) => Object.hasOwn(value, key)) : []
  const [kind] = kinds
  if (!kind || kinds.length > 1) {
    const received = kinds.length === 0 ? 'none' : kinds.map(({ key }) => key).join(' and ')
    const message = `expected an object with one of ${KINDS.map(({ key }) => key).join(', ')}, received ${received}`
    return { ok: false, issues: [{ path: '', message }] }
  }
  const parsed = v.safeParse(kind.schema, value)
  const issues = parsed.success ? meaningIssues(parsed.output) : parsed.issues.map(toIssue)
  return issues.length === 0 && parsed.success ? { ok: true, stored: parsed.output } : { ok: false, issues }
}

const KINDS = [
  { key: 'http', schema: HTTP_TOOL },
  { key: 'binding', schema: FACE },
  { key: 'static', schema: STATIC_TOOL },
] as const

function meaningIssues(stored: StoredTool): DefinitionIssue[] {
  return [
    ...under('inputSchema', checkSchema(stored.inputSchema)),
    ...under('outputSchema', stored.outputSchema === undefined ? [] : checkSchema(stored.outputSchema, 'any')),
    ...('http' in stored ? checkHttpCall(stored.http, stored.inputSchema) : []),
  ]
}

function under(path: string, issues: readonly DefinitionIssue[]): DefinitionIssue[] {
  return issues.map((issue) => ({ ...issue, path: issue.path === '' ? path : `${path}.${issue.path}` }))
}

function toIssue(issue: v.BaseIssue<unknown>): DefinitionIssue {
  const path = v.getDotPath(issue) ?? ''
  // Messages of this file's own say what was expected; Valibot's own begin with “Invalid”.
  if (issue.message.startsWith('expected')) return { path, message: issue.message }
  return { path, message: `expected ${issue.expected}, received ${issue.received}` }
}
