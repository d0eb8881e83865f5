import * as v from 'valibot'
import { isObject, type JsonSchema } from '../../../contract/json.ts'
import type { ClientTool } from '../../../contract/run.ts'
import { edgeName, wireName } from '../../../contract/tool-names.ts'
import { bodyFault, type InvalidBody } from '../body.ts'
import { either, isText, longToolName, parametersSchema, someText } from '../../schema.ts'
import { type HostedTool, otherMembers } from '../members.ts'
import { echoedArguments } from '../../provider/openai-responses/request.ts'
import { toKindCall, type ToolKind } from '../../provider/openai-responses/tool-kinds.ts'
import { textAt } from '../../fields.ts'
import type { JsonFields } from './shapes.ts'
import { functionMembers, optionalFlag, optionalText, toClientTool } from '../openai-chat/request.ts'

/*
 * A model of any provider can call functions. Tools that the format declares in another way are functions for it, unless its
 * provider takes the same form (`forms`), and the calls of these go back to the caller in the form that it has declared.
 */

/** The form in which a caller has declared a tool, where that is not a plain function. */
export interface ToolForm {
  readonly type: 'function' | ToolKind
  readonly name: string
  readonly namespace?: string
}

const functionTool = v.object({
  type: v.literal('function'),
  ...functionMembers,
  name: longToolName,
  defer_loading: optionalFlag,
})

const customTool = v.object({
  type: v.literal('custom'),
  name: longToolName,
  description: optionalText,
  format: v.nullish(v.looseObject({ type: v.string(), definition: optionalText })),
})

const namespaceTool = v.object({
  type: v.literal('namespace'),
  name: someText,
  description: optionalText,
  tools: v.array(v.variant('type', [functionTool, customTool])),
})

const searchTool = v.object({
  type: v.literal('tool_search'),
  execution: v.nullish(v.string()),
  description: optionalText,
  parameters: v.nullish(parametersSchema),
})

/** A tool that OpenAI would run. */
const hostedTool = v.looseObject({ type: v.string() })

const HOSTED = /^(?:(web_search)(?:_preview)?(?:_\d{4}_\d\d_\d\d)?|(file_search|code_interpreter|image_generation))$/

/** The types that the edge reads itself. Any other is that of a tool that it cannot offer. */
const OWN = /^(?:function|custom|namespace|tool_search|(?:local_)?shell|apply_patch)$/

/** Returns the name of the tool of the edge that a type of OpenAI's stands for. */
export function hostedName(type: string): string | undefined {
  const [, search, other] = HOSTED.exec(type) ?? []
  return search ?? other
}

function isHosted(value: unknown): boolean {
  return isObject(value) && isText(value['type']) && !OWN.test(value['type'])
}

export const responsesTool = either(
  isHosted,
  hostedTool,
  v.variant('type', [
    functionTool,
    customTool,
    namespaceTool,
    searchTool,
    v.object({ type: v.picklist(['local_shell', 'apply_patch']) }),
    v.object({ type: v.literal('shell'), environment: v.nullish(v.looseObject({ type: v.string() })) }),
  ]),
)

export type ResponsesTool = v.InferOutput<typeof responsesTool>

const text: JsonSchema = { type: 'string' }

function schemaOf(properties: JsonSchema, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required }
}

/** The functions that stand for the tools of which the format has the arguments. */
const FUNCTIONS = {
  local_shell: {
    description: 'Runs a command on the computer of the user, as a list of the program and its arguments.',
    inputSchema: schemaOf(
      { command: { type: 'array', items: text }, working_directory: text, timeout_ms: { type: 'integer' } },
      ['command'],
    ),
  },
  shell: {
    description: 'Runs shell commands on the computer of the user.',
    inputSchema: schemaOf(
      {
        commands: { type: 'array', items: text },
        timeout_ms: { type: 'integer' },
        max_output_length: { type: 'integer' },
      },
      ['commands'],
    ),
  },
  apply_patch: {
    description:
      'Creates, updates or deletes a file. `diff` is a V4A diff: lines after `@@`, each beginning with a space, `-` or `+`.',
    inputSchema: schemaOf(
      { type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] }, path: text, diff: text },
      ['type', 'path'],
    ),
  },
} as const

/** The name under which a model is told of a search of the caller: `tool_search` is that of the edge. */
export const SEARCH = 'search_tools'

/** Returns the name under which a model is told of a tool. `functions` is where the format has those without a namespace. */
export function flatName(name: string, namespace?: string | null): string {
  if (!namespace || namespace === 'functions') return edgeName(name)
  return wireName(namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`)
}

/** A tool that the caller runs, as the model is told of it. */
interface DeclaredTool {
  readonly tool: ClientTool
  readonly form?: ToolForm
  readonly place: string
}

/** Returns the functions that stand for a tool: none for one that OpenAI would run, all of a namespace. */
function functionsOf(
  tool: ResponsesTool,
  place: string,
  { namespace, isSearched = false }: { readonly namespace?: string; readonly isSearched?: boolean } = {},
): readonly DeclaredTool[] {
  if (isNamespace(tool)) {
    const within = { namespace: tool.name, isSearched }
    return tool.tools.flatMap((each, index) => functionsOf(each, `${place}.tools[${index}]`, within))
  }
  if (isFunction(tool)) {
    const name = flatName(tool.name, namespace)
    const form = { type: tool.type, name: tool.name, ...(namespace !== undefined && { namespace }) }
    const deferred = isSearched && tool.defer_loading === true ? { deferred: true as const } : {}
    const isDeclared = namespace === undefined && name === tool.name
    return [{ tool: { ...toClientTool(tool), name, ...deferred }, ...(!isDeclared && { form }), place }]
  }
  if (isCustom(tool)) {
    const { definition } = tool.format ?? {}
    const input = definition ? { ...text, description: `A text of this grammar:\n${definition}` } : text
    const inputSchema = schemaOf({ input }, ['input'])
    const form = { type: tool.type, name: tool.name, ...(namespace !== undefined && { namespace }) }
    const name = flatName(tool.name, namespace)
    const declared = { name, description: tool.description ?? '', inputSchema }
    return [{ tool: { ...declared, ...formOf({ ...tool, name }) }, form, place }]
  }
  const { type } = tool
  if (isSearch(tool)) {
    if (tool.execution !== 'client') return []
    const inputSchema = tool.parameters ?? schemaOf({ query: text }, ['query'])
    const description = tool.description ?? 'Searches for more tools.'
    const declared = { name: SEARCH, description, inputSchema }
    return [{ tool: { ...declared, ...formOf(tool) }, form: { type: tool.type, name: SEARCH }, place }]
  }
  if ((type === 'shell' && isContainer(tool)) || !isBuiltIn(type)) return []
  return [{ tool: { name: type, ...FUNCTIONS[type], ...formOf(tool) }, form: { type, name: type }, place }]
}

/** Returns the form that a provider of the format takes: the declaration without members that are null. */
function formOf(tool: object): Pick<ClientTool, 'forms'> {
  return { forms: { responses: Object.fromEntries(Object.entries(tool).filter(([, value]) => value != null)) } }
}

function isBuiltIn(type: string): type is keyof typeof FUNCTIONS {
  return Object.hasOwn(FUNCTIONS, type)
}

/** Whether a shell is not that of the caller, but in a container of OpenAI's. */
function isContainer(tool: object): boolean {
  return 'environment' in tool && isObject(tool.environment) && tool.environment['type'] !== 'local'
}

export function isFunction(tool: ResponsesTool): tool is v.InferOutput<typeof functionTool> {
  return tool.type === 'function'
}

function isCustom(tool: ResponsesTool): tool is v.InferOutput<typeof customTool> {
  return tool.type === 'custom'
}

function isNamespace(tool: ResponsesTool): tool is v.InferOutput<typeof namespaceTool> {
  return tool.type === 'namespace'
}

function isSearch(tool: ResponsesTool): tool is v.InferOutput<typeof searchTool> {
  return tool.type === 'tool_search'
}

/** Returns the names under which a model is told of tools. */
export function modelNames(tools: readonly ResponsesTool[]): readonly string[] {
  return tools.flatMap((tool) => functionsOf(tool, '')).map(({ tool }) => tool.name)
}

/** The tools of a request, for the model and for the edge. */
export interface RequestTools {
  readonly clientTools: readonly ClientTool[]
  /** How the caller has declared those that are no plain functions, by the names that the model has. */
  readonly forms: ReadonlyMap<string, ToolForm>
  readonly hostedTools: readonly HostedTool[]
  readonly ignored: readonly string[]
}

/**
 * Reads the tools of a request. `more`: those that its input has, which may repeat others. A function that is deferred stays
 * so until an output of the caller's own search names it; a model is told of it at once if OpenAI would search.
 */
export function readTools(
  tools: readonly ResponsesTool[],
  more: readonly ResponsesTool[],
): ({ readonly ok: true } & RequestTools) | InvalidBody {
  const byName = new Map<string, DeclaredTool>()
  const isSearched = tools.some((tool) => isSearch(tool) && tool.execution === 'client')
  for (const each of tools.flatMap((tool, index) => functionsOf(tool, `tools[${index}]`, { isSearched }))) {
    if (byName.has(each.tool.name)) return bodyFault(`${each.place}.name`, 'is used twice.')
    byName.set(each.tool.name, each)
  }
  for (const each of more.flatMap((tool) => functionsOf(tool, 'input')))
    if (!byName.has(each.tool.name)) byName.set(each.tool.name, each)
  const all = [...tools, ...more]
  const places = all.map((_, index) =>
    index < tools.length ? `tools[${index}]` : `input.tools[${index - tools.length}]`,
  )
  const hostedTools = all.flatMap((tool, index) => {
    const name = hostedName(tool.type)
    return name === undefined ? [] : [{ name, place: places[index] ?? '' }]
  })
  return {
    ok: true,
    clientTools: [...byName.values()].map(({ tool }) => tool),
    forms: new Map([...byName].flatMap(([name, { form }]) => (form ? [[name, form] as const] : []))),
    hostedTools,
    ignored: all.flatMap((tool, index) => ignoredOf(tool, places[index] ?? '')),
  }
}

/** Returns what is ignored of a tool that OpenAI would run: the operator of the edge sets up how it works. */
function ignoredOf(tool: ResponsesTool, place: string): readonly string[] {
  if (isHosted(tool)) return hostedName(tool.type) === undefined ? [place] : otherMembers(place, tool, ['type'])
  return isNamespace(tool) || functionsOf(tool, place).length > 0 ? [] : [place]
}

/**
 * Makes the item of a call in the form in which the caller has declared the tool. `input`: the member that is streamed,
 * and the name of its events.
 */
export function callItem(
  { type, name, namespace }: ToolForm,
  { callId, text, suffix }: { readonly callId: string; readonly text: string; readonly suffix: string },
): {
  readonly item: CallItem
  readonly input?: { readonly member: string; readonly events: string; readonly text: string }
} {
  const status = 'in_progress'
  const place = { call_id: callId, ...(namespace !== undefined && { namespace }) }
  if (type === 'function') {
    return {
      item: { id: `fc_${callId}${suffix}`, type: 'function_call', ...place, name, arguments: '', status },
      input: { member: 'arguments', events: 'function_call_arguments', text: echoedArguments(text) },
    }
  }
  const call = toKindCall(type, name, text)
  const item = { id: `${PREFIXES[type]}_${callId}${suffix}`, ...call, ...place, status }
  if (type !== 'custom') return { item }
  return {
    item: { ...item, input: '' },
    input: { member: 'input', events: 'custom_tool_call_input', text: textAt(call, 'input') },
  }
}

type CallItem = JsonFields & { readonly id: string; readonly type: string }

const PREFIXES = { custom: 'ctc', local_shell: 'lsh', shell: 'sh', apply_patch: 'apc', tool_search: 'tsc' } as const
