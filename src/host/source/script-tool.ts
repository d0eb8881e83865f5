import type { DefinitionIssue } from '../../contract/definition.ts'
import { canonicalJson, isObject } from '../../contract/json.ts'
import type { Owner } from '../../contract/owner.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { toolFields } from '../../wire/tool-fields.ts'
import { tightening } from '../policy/policies.ts'
import { isMissingWorker } from '../worker/answer.ts'
import { mayDispatch, type Scripts } from '../worker/script.ts'

interface FillOptions {
  readonly owner: Owner
  /** The Workers of the dispatch namespace. Default: this edge has none. */
  readonly scripts?: Scripts | undefined
}

type Filled =
  | { readonly ok: true; readonly definition: unknown }
  | { readonly ok: false; readonly issues: readonly DefinitionIssue[] }

/** What only the Worker can say of its tool. A definition may repeat it, but not change it. */
const CONTRACT = ['inputSchema', 'outputSchema', 'reconcile', 'undo', 'later', 'history', 'strict'] as const

/** The fields of a Worker's tool that are stored. */
const STORED = [...Object.keys(toolFields('stored')), ...CONTRACT]

export const NO_NAMESPACE = 'this edge has no dispatch namespace (binding DISPATCHER)'

/**
 * Fills a definition that names a Worker of the dispatch namespace, `{ "worker": { "script", "tool", "hash" } }`, with
 * what that Worker says of the tool, so that it is listed, searched and pinned without asking the Worker again. `tool`
 * is by default the name of the definition; with `hash` the tool must still have that definition. Any other definition is
 * returned as it is.
 */
export async function fillFromWorker(name: string, definition: unknown, options: FillOptions): Promise<Filled> {
  if (!isObject(definition) || !isObject(definition.worker)) return { ok: true, definition }
  const { script, tool: toolName = name, hash } = definition.worker
  if (typeof script !== 'string') return issue('worker.script', 'expected the name of the script of a Worker')
  const { scripts, owner } = options
  if (!scripts) return issue('worker', NO_NAMESPACE)
  const refusal = scriptRefusal(owner, script)
  if (refusal !== undefined) return issue('worker.script', refusal)
  const description = await scripts.describe(script, { refresh: true })
  if (!description.ok) {
    const reason = isMissingWorker(description.detail) ? 'the dispatch namespace has none' : description.reason
    return issue('worker.script', `expected a tool Worker, received "${script}": ${reason}`)
  }
  const tool = description.tools.find((each) => each.name === toolName)
  if (!tool) {
    const names = description.tools.map((each) => each.name).join(', ')
    return issue(
      'worker.tool',
      `expected a tool of the Worker (${names || 'it has none'}), received ${JSON.stringify(toolName)}`,
    )
  }
  if (hash !== undefined && hash !== tool.hash) {
    return issue('worker.hash', `expected "${tool.hash}", which the tool has now: its definition has changed`)
  }
  const fixed = tool.approval === undefined ? CONTRACT : ([...CONTRACT, 'approval'] as const)
  const changed = fixed.find((field) => definition[field] !== undefined && !isSame(definition[field], tool[field]))
  if (changed) return issue(changed, 'expected what the Worker says of its tool; leave it out')
  return {
    ok: true,
    definition: {
      ...storedFields(tool),
      ...definition,
      annotations: { ...tool.annotations, ...tightening(Object(definition.annotations)) },
      name,
      worker: { ...definition.worker, tool: toolName, hash: tool.hash },
    },
  }
}

const NOT_OWN = 'expected a script of this tenant, whose name is that of the tenant, "--" and a further name'
const NO_NAME = 'expected the name of a script: letters, digits, "_" and "-", of which "-" is not the first'

/** Returns why a definition may not name a script. */
export function scriptRefusal(owner: Owner, script: string): string | undefined {
  if (mayDispatch(owner, script)) return undefined
  return mayDispatch('edge', script) ? NOT_OWN : NO_NAME
}

function issue(path: string, message: string): Filled {
  return { ok: false, issues: [{ path, message }] }
}

function isSame(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other)
}

function storedFields(tool: ToolDefinition): object {
  return Object.fromEntries(Object.entries(tool).filter(([field]) => STORED.includes(field)))
}
