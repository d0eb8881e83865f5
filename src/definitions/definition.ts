import type { DefinitionIssue, StoredDefinition } from '../contract/definition.ts'
import { TOOL_NAME } from '../contract/id.ts'
import { canonicalJson, isObject, type JsonObject, type JsonSchema, parseJson, sha256 } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import { READ_RESULT } from '../contract/tool.ts'
import { CODE } from './code/definition.ts'
import { checkHttpCall, HTTP_CALL } from './http/definition.ts'
import { mendPlainly } from '../contract/mend-schema.ts'
import { checkSchema } from '../schema/check.ts'
import { plainFault } from '../schema/document.ts'
import { toIssue } from '../schema/issue.ts'
import { exampleIssues, issuesOf as misfitsOf } from '../schema/validate.ts'
import { withoutLongLimits } from '../wire/schema.ts'
import { toolFields } from '../wire/tool-fields.ts'
import * as v from 'valibot'

/** The fields that every kind of definition has. */
const COMMON = { ...toolFields('stored'), default: v.exactOptional(v.boolean()) }

export const HTTP_TOOL = v.strictObject({ ...COMMON, http: HTTP_CALL })
export const ALIAS = v.strictObject({
  ...COMMON,
  binding: v.pipe(v.string(), v.regex(/^TOOL_[A-Z0-9_]+$/)),
  call: v.pipe(v.string(), v.regex(TOOL_NAME)),
})
export const STATIC_TOOL = v.strictObject({
  ...COMMON,
  static: v.union(
    [v.strictObject({ text: v.string() }), v.strictObject({ structured: v.unknown() })],
    'expected either { text } or { structured }',
  ),
})
export const CODE_TOOL = v.strictObject({ ...COMMON, code: CODE })

/** The fields that only the tool of a Worker can have. */
const WORKER_FIELDS = (({ reconcile, undo, later }) => ({ reconcile, undo, later }))(toolFields('worker'))

const SCRIPT_TOOL = v.strictObject({
  ...COMMON,
  ...WORKER_FIELDS,
  worker: v.strictObject({
    script: v.pipe(v.string(), v.regex(/^[A-Za-z\d_-]{1,63}$/)),
    tool: v.pipe(v.string(), v.regex(TOOL_NAME)),
    hash: v.pipe(v.string(), v.nonEmpty(), v.maxLength(128)),
  }),
})

/** The definition of such a tool as it is sent: the edge fills in what the Worker says of its tool. */
export const SCRIPT_BODY = v.strictObject({
  ...v.partial(v.object({ ...COMMON, ...WORKER_FIELDS })).entries,
  worker: v.partial(SCRIPT_TOOL.entries.worker, ['tool', 'hash']),
})

/**
 * A checked definition of a stored tool: a tool that sends an HTTP request; an alias, which is a tool of a
 * tool Worker under another name, description and schema; a tool that always answers the same; one with code of its
 * own; or a tool of a Worker in a dispatch namespace.
 */
export type StoredTool = Readonly<
  | v.InferOutput<typeof HTTP_TOOL>
  | v.InferOutput<typeof ALIAS>
  | v.InferOutput<typeof STATIC_TOOL>
  | v.InferOutput<typeof CODE_TOOL>
  | v.InferOutput<typeof SCRIPT_TOOL>
>

type ParsedStored =
  | { readonly ok: true; readonly stored: StoredTool; readonly mends: readonly DefinitionIssue[] }
  | { readonly ok: false; readonly issues: readonly DefinitionIssue[] }

const LIMITS = { depth: 64, values: 20_000, visible: true }

const KINDS = [
  ['http', HTTP_TOOL],
  ['binding', ALIAS],
  ['static', STATIC_TOOL],
  ['code', CODE_TOOL],
  ['worker', SCRIPT_TOOL],
] as const

/**
 * Checks a definition that is to be stored, or was. It must be of exactly one kind (`http`, `binding`, `static`, `code`
 * or `worker`), with no unknown key, sound schemas and safe requests. Whether the deployment allows its hosts
 * (`checkHosts`) and whether its module loads (`checkModule`) is checked elsewhere. Issues name the path in the
 * definition, and so do mends: what was changed in its schemas (`mendPlainly`). Never throws, whatever the value.
 */
export function parseStored(definition: unknown): ParsedStored {
  const { value, mends } = isObject(definition) ? withSchemas(definition) : { value: definition, mends: [] }
  // The schemas are checked by themselves: what they may hold is not what the texts of a definition may hold.
  const fault = plainFault(isObject(value) ? { ...value, inputSchema: {}, outputSchema: {} } : value, LIMITS)
  if (fault) return { ok: false, issues: [fault] }
  const kinds = KINDS.filter(([key]) => isObject(value) && Object.hasOwn(value, key))
  const [kind] = kinds
  if (!kind || kinds.length > 1) {
    const received = kinds.map(([key]) => key).join(' and ') || 'none'
    return {
      ok: false,
      issues: [
        {
          path: '',
          message: `expected an object with one of http, binding, static, code, worker, received ${received}`,
        },
      ],
    }
  }
  const parsed = v.safeParse(kind[1], value)
  const issues = parsed.success ? issuesOf(parsed.output) : parsed.issues.map((issue) => toIssue(issue))
  return issues.length === 0 && parsed.success ? { ok: true, stored: parsed.output, mends } : { ok: false, issues }
}

/** Returns a definition with schemas that say what is meant, and what was changed for that. */
function withSchemas(definition: JsonObject): { readonly value: JsonObject; readonly mends: DefinitionIssue[] } {
  const value: Record<string, unknown> = { ...definition }
  const mends: DefinitionIssue[] = []
  for (const name of ['inputSchema', 'outputSchema']) {
    const schema = withoutLongLimits(definition[name])
    if (schema === undefined) continue
    const mended = isObject(schema) ? mendPlainly(schema) : { schema, mends: [] }
    value[name] = mended.schema
    mends.push(...mended.mends.map(prefixPath(name)))
  }
  return { value, mends }
}

function issuesOf(stored: StoredTool): DefinitionIssue[] {
  const { name, inputSchema, outputSchema = {} } = stored
  const inputIssues = checkSchema(inputSchema)
  const schemaIssues = checkSchema(outputSchema, 'any')
  const isTaken = name === READ_RESULT
  return [
    ...(isTaken
      ? [{ path: 'name', message: `expected another name: models read on in long results by "${name}"` }]
      : []),
    ...inputIssues.map(prefixPath('inputSchema')),
    ...(inputIssues.length === 0 ? exampleIssues(stored) : []),
    ...schemaIssues.map(prefixPath('outputSchema')),
    ...('http' in stored ? checkHttpCall(stored.http, inputSchema) : []),
    ...('static' in stored && schemaIssues.length === 0 ? staticAnswerIssues(stored.static, outputSchema) : []),
  ]
}

/** Returns where a static answer does not fit the tool's own output schema. */
function staticAnswerIssues(answer: object, outputSchema: JsonSchema): DefinitionIssue[] {
  return Object.entries(answer).flatMap(([kind, value]) =>
    misfitsOf(outputSchema, value, LIMITS).map(prefixPath(`static.${kind}`)),
  )
}

function prefixPath(outer: string): (issue: DefinitionIssue) => DefinitionIssue {
  return ({ path, message }) => ({ path: path === '' ? outer : `${outer}.${path}`, message })
}

/** A stored definition that was read and checked, or the reason why it cannot be used. */
type StoredRecord = { readonly stored: StoredTool; readonly definition: ToolDefinition } | string

/**
 * Returns what is stored of a definition: its canonical JSON, so that the order of its keys does not matter. The hash
 * is that of the whole text, so that a run that has pinned it calls exactly what it was told of: another host or policy
 * is another version too.
 */
export async function encodeDefinition(
  stored: StoredTool,
): Promise<{ kept: StoredDefinition; definition: ToolDefinition }> {
  const text = canonicalJson(stored)
  const hash = await sha256(text)
  return {
    kept: { text, metadata: { default: stored.default === true, hash } },
    definition: toDefinition(stored, hash),
  }
}

/**
 * Reads the definition that is stored under a name. All of it is checked again, since the store can be written in other
 * ways: a definition that would not have been stored, or that has another name, cannot be used. Never rejects.
 */
export async function decodeDefinition(name: string, text: string): Promise<StoredRecord> {
  const parsed = parseStored(parseJson(text))
  if (!parsed.ok) return parsed.issues.map(({ path, message }) => `${path || 'it'}: ${message}`).join('; ')
  const { stored } = parsed
  return stored.name === name
    ? { stored, definition: toDefinition(stored, await sha256(text)) }
    : `the definition stored here is named "${stored.name}"`
}

const FIELDS = Object.keys({ ...toolFields('stored'), ...WORKER_FIELDS })

function toDefinition(stored: StoredTool, hash: string): ToolDefinition {
  // Its arguments go to another host or to code of others, and its results hold what somebody wrote there. The author
  // cannot say otherwise.
  const isOutbound =
    'http' in stored || 'worker' in stored || ('code' in stored && (stored.code.hosts ?? []).length > 0)
  const { annotations = {}, version = '1' } = stored
  const definition: Omit<ToolDefinition, 'hash' | 'version' | 'annotations'> = Object.fromEntries(
    Object.entries(stored)
      .filter(([field]) => FIELDS.includes(field))
      .map((entry): readonly unknown[] => entry),
  )
  return {
    ...definition,
    version,
    hash,
    annotations: isOutbound ? { ...annotations, untrusted: true, openWorld: true } : annotations,
  }
}
