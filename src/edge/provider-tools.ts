import { ConfigError, type Vars } from '../contract/vars.ts'
import { TOOL_NAME } from '../contract/id.ts'
import { canonicalJson, isObject, sha256 } from '../contract/json.ts'
import type { Hook } from '../contract/hook.ts'
import type { ModelProvider } from '../contract/model.ts'
import type { ProviderForms, ProviderFormat } from '../contract/provider-tool.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import { failure, type Tool, type ToolSource } from '../contract/tool.ts'
import { holdingPolicies, readPolicies } from '../host/policy/policies.ts'
import { type ProviderToolsOptions, withProviderTools } from '../model/provider-tools.ts'
import type { Env } from './env.ts'
import type { Part } from './part.ts'
import type { ProviderFromEnv } from './providers.ts'

/**
 * A tool that the provider of a model runs. The forms are what its API takes: `anthropic` and `responses` an item of
 * `tools`, such as `{ type: 'web_search_20250305', max_uses: 5 }`; `gemini` a member of `tools`, such as
 * `{ googleSearch: {} }`. A model whose provider has no form here is not told of the tool.
 */
export interface ProviderTool
  extends ProviderForms, Partial<Pick<ToolDefinition, 'title' | 'description' | 'instructions' | 'tags' | 'version'>> {
  /** Default: `{ openWorld: true, untrusted: true }`. A tool that reaches nothing outside has `openWorld: false`. */
  readonly annotations?: ToolDefinition['annotations']
}

/** The operator's name for the source of these tools, by which policies find them all: `@provider`. */
const PLACE = 'provider'

const FORMATS: readonly ProviderFormat[] = ['anthropic', 'responses', 'gemini']

/** Why nothing can be asked, counted or approved before the provider acts. */
const UNASKED = 'since the provider of the model runs it within an answer, and asks nobody before'

/**
 * Tools that the providers of models run themselves, such as a search of the web, by name: they are offered, selected,
 * found and restricted to callers like any tool. `tools` may be a function of the env, for forms with a secret.
 *
 * @example
 * const search = providerTools({
 *   web_search: {
 *     anthropic: { type: 'web_search_20250305', max_uses: 5 },
 *     responses: { type: 'web_search' },
 *     gemini: { googleSearch: {} },
 *   },
 * })
 */
export function providerTools(
  tools: Readonly<Record<string, ProviderTool>> | ((env: Env) => Readonly<Record<string, ProviderTool>>),
): Part {
  return {
    name: 'providerTools',
    extend: ({ env, providers, sources, hooks, report }) => {
      const byName = new Map(Object.entries(typeof tools === 'function' ? tools(env) : tools))
      for (const [name, tool] of byName) checkTool(name, tool, env)
      const reported = new Set<string>()
      const onLeftOut: ProviderToolsOptions['onLeftOut'] = (tool, model, format) => {
        const key = `${model} ${format} ${tool}`
        if (reported.has(key)) return
        reported.add(key)
        report({ event: 'provider_tool.left_out', tool, model, format })
      }
      const telling = (fromEnv: ProviderFromEnv): ProviderFromEnv => {
        return (vars) => {
          const models = fromEnv(vars)
          if (!models) return undefined
          const tellingModels: ModelProvider = (name) => withProviderTools(models(name), { forms: byName, onLeftOut })
          return Object.assign(tellingModels, models.list && { list: models.list })
        }
      }
      return {
        hooks: [...hooks, PRIVACY],
        sources: [...sources, providerToolSource(byName)],
        providers: Object.fromEntries(Object.entries(providers).map(([name, fromEnv]) => [name, telling(fromEnv)])),
      }
    },
  }
}

/**
 * Leaves out the tools that reach outward once the run has read private data: within one answer such a tool can read
 * untrusted text and send to the outside, and nobody can be asked in between.
 */
const PRIVACY: Hook = {
  name: 'providerTools',
  step: (request, next, { run, marks }) => {
    if (!marks.has('private') || run.taintRule === false) return next(request)
    const staysInside = ({ atProvider, annotations }: ToolDefinition) => !atProvider || annotations.openWorld === false
    const tools = request.tools.filter(staysInside)
    if (tools.length === request.tools.length) return next(request)
    const { toolChoice, ...rest } = request
    const isChoice = typeof toolChoice !== 'object' || tools.some(({ name }) => name === toolChoice.tool)
    return next({ ...rest, tools, ...(toolChoice !== undefined && isChoice && tools.length > 0 && { toolChoice }) })
  },
}

/** Throws a ConfigError for a tool without a form, and for controls that nothing could enforce. */
function checkTool(name: string, tool: ProviderTool, vars: Vars): void {
  if (!TOOL_NAME.test(name)) throw new ConfigError('providerTools', `tools with names like web_search, not "${name}"`)
  if (!FORMATS.some((format) => isObject(tool[format])))
    throw new ConfigError('providerTools', `tools with a form for ${FORMATS.join(', ')}; "${name}" has none`)
  if ('approval' in tool) throw new ConfigError('providerTools', `without approval of "${name}", ${UNASKED}`)
  const { tags = [] } = tool
  const subject = { place: PLACE, definition: { name, tags } }
  for (const { pattern, policy } of holdingPolicies(readPolicies(vars), subject)) {
    const control = policy.rate === undefined ? 'approval' : 'rate'
    if (policy.rate === undefined && (policy.approval ?? 'never') === 'never') continue
    const remedy = 'Name the tools that need it, or restrict this one by scopes or tenants'
    throw new ConfigError(
      'TOOL_POLICY',
      `without "${control}" at "${pattern}" for the tool "${name}", ${UNASKED}. ${remedy}`,
    )
  }
}

/** Makes the source of these tools. */
function providerToolSource(tools: ReadonlyMap<string, ProviderTool>): ToolSource {
  let toolList: Promise<readonly Tool[]> | undefined
  const all = () => (toolList ??= Promise.all([...tools].map(([name, tool]) => toTool(name, tool))))
  return {
    list: async () => ({ tools: await all(), unavailable: [] }),
    offered: all,
    find: async (names) => (await all()).filter(({ definition }) => names.includes(definition.name)),
  }
}

async function toTool(name: string, tool: ProviderTool): Promise<Tool> {
  const { title, description = DESCRIPTION, instructions, tags, version = '1', annotations } = tool
  const inputSchema = { type: 'object' } as const
  const definition: ToolDefinition = {
    name,
    title,
    description,
    instructions,
    inputSchema,
    version,
    hash: await sha256(canonicalJson({ name, description, inputSchema })),
    annotations: { openWorld: true, untrusted: true, ...annotations },
    tags,
    callers: ['model'],
    atProvider: true,
  }
  const message = `Not run: the provider of the model runs "${name}" itself. It cannot be called.`
  return {
    definition,
    origin: 'provider',
    place: PLACE,
    offered: true,
    call: async () => failure('runs_at_provider', message),
  }
}

const DESCRIPTION = 'A tool that the provider of the model runs.'
