import type { Owner } from '../../contract/catalogue.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { Tool } from '../../contract/tool.ts'
import { cannotUndo, toolChanged } from '../../tool/pinned-tools.ts'
import {
  callService,
  describeBinding,
  type DescribeResult,
  isMissingWorker,
  missingMethod,
  type ToolBinding,
  unreachable,
} from './call.ts'
import type { DefinitionIssue } from '../../contract/definition.ts'
import { canonicalJson, isObject } from '../../contract/json.ts'
import { toolFields } from '../../wire/tool-fields.ts'
import { tightening } from '../policy/policies.ts'

/**
 * A dispatch namespace, which has the Workers of a platform's users by the names of their scripts
 * (https://developers.cloudflare.com/cloudflare-for-platforms/workers-for-platforms/).
 */
export interface ScriptNamespace {
  get(script: string): ToolBinding
}

/** A tool of a Worker in the dispatch namespace: the name of its script, and the tool's name and hash there. */
export interface ScriptTool {
  readonly script: string
  readonly tool: string
  readonly hash: string
}

export interface ScriptOptions {
  readonly now: () => number
  /** How long a Worker may take to describe itself, in milliseconds. Default 5,000. */
  readonly describeMs?: number
}

/** The Workers of a dispatch namespace. */
export interface Scripts {
  describe(script: string, options?: { readonly refresh?: boolean }): Promise<DescribeResult>
  /** Returns the tool of a Worker that a stored definition names. It is not called once its definition has changed. */
  tool(target: ScriptTool, definition: ToolDefinition, place: string): Tool
}

/** The most Workers whose descriptions an isolate caches. */
const MOST_SCRIPTS = 1000

/** What Cloudflare accepts as the name of a script. */
const SCRIPT_NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,254}$/

/**
 * Returns whether an owner's definitions may name a script: the edge's any, a tenant's only those whose name is that of
 * the tenant, `--`, and a further name without `--`. A further name that began with `-` could be of another tenant: the
 * script `acme---x` is that of `acme-`.
 */
export function mayDispatch(owner: Owner, script: string): boolean {
  if (!SCRIPT_NAME.test(script)) return false
  if (owner === 'edge') return true
  const prefix = `${owner.slice(owner.indexOf(':') + 1)}--`
  const rest = script.slice(prefix.length)
  return script.startsWith(prefix) && SCRIPT_NAME.test(rest) && !rest.includes('--')
}

/** Makes the Workers of a dispatch namespace reachable, each over RPC or, if it has no such methods, over `fetch`. */
export function scriptsOf(namespace: ScriptNamespace, { now, describeMs: timeoutMs = 5000 }: ScriptOptions): Scripts {
  const bindings = new RecentMap<string, ToolBinding>({ most: MOST_SCRIPTS })
  const bindingOf = (script: string): ToolBinding => {
    const binding = bindings.get(script) ?? bindScript(namespace, script)
    bindings.set(script, binding)
    return binding
  }
  const describe: Scripts['describe'] = (script, options) =>
    describeBinding(bindingOf(script), { now, timeoutMs, ...options })
  return {
    describe,
    tool: ({ script, tool: name, hash }, stored, place) => {
      const definition = { ...stored, name, hash }
      const refresh = () => describe(script, { refresh: true })
      const reach = async (): Promise<Pick<Tool, 'call' | 'status' | 'undo' | 'poll'>> => {
        const description = await describe(script)
        if (description.ok) {
          const { transport } = description
          return callService(definition, { binding: bindingOf(script), transport, describe: refresh, exact: true })
        }
        const fail = async () => unreachable(stored.name, description.detail)
        return { call: fail, undo: fail, poll: fail }
      }
      return {
        ...{ definition, origin: 'kv', place, offered: false },
        call: async (request, control) => (await reach()).call(request, control),
        ...(stored.reconcile && {
          status: async (request) => (await (await reach()).status?.(request)) ?? 'unknown',
        }),
        ...(stored.undo && {
          undo: async (request, outcome) => (await (await reach()).undo?.(request, outcome)) ?? cannotUndo(stored.name),
        }),
        ...(stored.later && {
          poll: async (request, state) => (await (await reach()).poll?.(request, state)) ?? toolChanged(stored.name),
        }),
      }
    },
  }
}

/** Returns a binding that looks its Worker up for each request: stubs belong to the request that made them. */
function bindScript(namespace: ScriptNamespace, script: string): ToolBinding {
  const worker = () => namespace.get(script)
  return {
    describe: async () => worker().describe?.() ?? missingMethod('describe'),
    call: async (...args) => worker().call?.(...args) ?? missingMethod('call'),
    status: async (...args) => worker().status?.(...args) ?? missingMethod('status'),
    undo: async (...args) => worker().undo?.(...args) ?? missingMethod('undo'),
    poll: async (...args) => worker().poll?.(...args) ?? missingMethod('poll'),
    fetch: async (url, init) => worker().fetch?.(url, init) ?? Response.error(),
  }
}

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
