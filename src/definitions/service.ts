import type { DefinitionIssue, UsableDefinition, ToolHosts } from '../contract/definition.ts'
import { isObject } from '../contract/json.ts'
import { RecentMap } from '../contract/recent-map.ts'
import type { ToolControl, ToolOutcome, ToolRequest } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { callCode, checkModule, CODE_IS_OFF, type CodeHost, type CodeOptions } from './code/worker.ts'
import { checkCodeHosts } from './code/definition.ts'
import { callHttp, type HttpOptions, mayChange } from './http/call.ts'
import { fittingExactly } from './http/exact-json.ts'
import { checkHosts } from './http/definition.ts'
import { checkSchema } from '../schema/check.ts'
import { uncheckedPatterns } from '../schema/issue.ts'
import { fittingArguments, issuesOf } from '../schema/validate.ts'
import type { VersionedDefinitions } from '../contract/catalogue.ts'
import { compareTexts } from './change.ts'
import { decodeDefinition, encodeDefinition, parseStored, type StoredTool } from './definition.ts'
import { checkOutcome } from './outcome.ts'

/** The longest text that fits into a row of the catalogue, whatever its characters. */
const MOST_CHARACTERS = 500_000
const TOO_LARGE = {
  ok: false,
  issues: [{ path: '', message: `expected at most ${MOST_CHARACTERS} characters of JSON` }],
} as const

/**
 * Makes the service that checks and performs stored definitions. `fetch` and `now` are the platform's unless a test
 * passes its own; without `code` nothing can run code, and definitions with code cannot be used.
 */
export function definitionService(
  options: Pick<HttpOptions, 'fetch' | 'now'> & Pick<CodeOptions, 'code'> = {},
): VersionedDefinitions {
  const { code } = options
  return {
    write: async (name, definition, hosts) => {
      const parsed = parseStored(isObject(definition) ? { name, ...definition } : definition)
      if (!parsed.ok) return parsed
      const { stored, mends } = parsed
      const issues = [
        ...(stored.name === name ? [] : [{ path: 'name', message: `expected "${name}", received "${stored.name}"` }]),
        ...grantIssues(stored, hosts, code),
      ]
      if (issues.length > 0) return { ok: false, issues }
      const moduleFault = 'code' in stored && code ? await checkModule(code, stored.code.module) : undefined
      if (moduleFault !== undefined) return { ok: false, issues: [{ path: 'code.module', message: moduleFault }] }
      const { kept, definition: toolDefinition } = await encodeDefinition(stored)
      return kept.text.length > MOST_CHARACTERS
        ? TOO_LARGE
        : { ok: true, kept, read: toRead(stored, toolDefinition), warnings: [...mends, ...warningsOf(stored)] }
    },
    read: (values, hosts) =>
      Promise.all(
        values.map(async ({ name, text }) => {
          const record = await decodeDefinition(name, text)
          if (typeof record === 'string') return record
          const [issue] = grantIssues(record.stored, hosts, code)
          return issue ? issue.message : toRead(record.stored, record.definition)
        }),
      ),
    call: async (value, request, { hosts, secrets }, control) => {
      const parsed = parseCached(value)
      if (!parsed.ok) return failure('tool_misconfigured', `The tool "${request.name}" is not set up.`)
      const { stored } = parsed
      const fit = 'http' in stored ? fittingExactly : fittingArguments
      const fitting = fit(stored, request.arguments)
      if (!fitting.ok) return fitting
      const coercedRequest = { ...request, arguments: fitting.value }
      const outcome = await callStored(
        stored,
        { ...options, hosts, secret: (name) => secrets[name] },
        coercedRequest,
        control,
      )
      return outcome && checkOutcome(stored, outcome, hasEffect(stored))
    },
    checkOutcome: async (definition, outcome) =>
      checkSchema(definition.outputSchema ?? {}, 'any').length > 0 ? outcome : checkOutcome(definition, outcome),
    validate: async (schema, value) => {
      const schemaIssues = checkSchema(schema, 'any')
      return schemaIssues.length > 0
        ? schemaIssues.map(({ path, message }) => ({
            path: '',
            message: `the schema is invalid at ${path}: ${message}`,
          }))
        : issuesOf(schema, value)
    },
    compare: async (before, after) => compareTexts(before, after),
  }
}

/** Whether a call is a request that may change something at a service, whose status says whether it did. */
function hasEffect(stored: StoredTool): boolean {
  return 'http' in stored && mayChange(stored.http, stored.annotations)
}

function callStored(
  stored: StoredTool,
  options: HttpOptions & CodeOptions,
  request: ToolRequest,
  control: ToolControl,
): Promise<ToolOutcome> | ToolOutcome | undefined {
  if ('http' in stored) {
    return callHttp(stored.name, stored.http, { ...options, hasEffect: hasEffect(stored) })(request, control)
  }
  if ('code' in stored) return callCode(stored, options)(request, control)
  if ('binding' in stored || 'worker' in stored) return undefined
  const { static: answer } = stored
  const text = 'text' in answer ? answer.text : JSON.stringify(answer.structured)
  return {
    ok: true,
    content: [{ type: 'text', text }],
    ...('structured' in answer && { structured: answer.structured }),
  }
}

/**
 * Returns what has less effect than its author may expect: patterns that are not always checked, and fields without
 * effect.
 */
function warningsOf(stored: StoredTool): DefinitionIssue[] {
  const { inputSchema, outputSchema = {}, history } = stored
  const patterns = Object.entries({ inputSchema, outputSchema }).flatMap(([name, schema]) =>
    uncheckedPatterns(schema).map(({ path, message }) => ({ path: `${name}.${path}`, message })),
  )
  const isIdle = 'http' in stored || 'static' in stored
  return history && isIdle
    ? [...patterns, { path: 'history', message: 'has no effect: only code and aliases read the messages' }]
    : patterns
}

/** Returns what a definition asks for and this deployment does not grant. */
function grantIssues(stored: StoredTool, hosts: ToolHosts, code: CodeHost | undefined): DefinitionIssue[] {
  if ('http' in stored) return checkHosts(stored.http, hosts)
  if (!('code' in stored)) return []
  return code ? checkCodeHosts(stored.code, hosts) : [{ path: 'code', message: CODE_IS_OFF }]
}

function toRead(stored: StoredTool, definition: UsableDefinition['definition']): UsableDefinition {
  return {
    definition,
    offered: stored.default === true,
    ...('binding' in stored && { alias: { binding: stored.binding, call: stored.call } }),
    ...('worker' in stored && { worker: stored.worker }),
    ...('http' in stored && { isRequest: true as const }),
    secrets: secretsOf(stored),
    stored,
  }
}

function secretsOf(stored: StoredTool): readonly string[] {
  if ('http' in stored) return stored.http.secrets ?? []
  return 'code' in stored ? (stored.code.secrets ?? []) : []
}

/** The most characters of definitions in the cache, and what each entry counts for beside its text. */
const MOST_PARSED = 8_000_000
const ENTRY_WEIGHT = 8000

/** Parsed definitions by text: over RPC each call brings a copy, and what is compiled from its schemas is kept here. */
const parsed = new RecentMap<string, ReturnType<typeof parseStored>>({ most: MOST_PARSED })

function parseCached(value: unknown): ReturnType<typeof parseStored> {
  const text = JSON.stringify(value)
  const cached = parsed.get(text)
  if (cached) return cached
  const result = parseStored(value)
  parsed.set(text, result, text.length + ENTRY_WEIGHT)
  return result
}
