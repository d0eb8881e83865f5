import type { AgentControl, AgentOptions } from '../contract/agent.ts'
import type { Config } from '../contract/config.ts'
import type { LoopSetup } from '../contract/hook.ts'
import { deriveRunId, TOOL_NAME } from '../contract/id.ts'
import { readExactly } from '../contract/exact-numbers.ts'
import { canonicalJson, sha256 } from '../contract/json.ts'
import { MOST_LATER_MS } from '../contract/later.ts'
import { DEFAULT_LIMITS, type Limits, lowerLimits } from '../contract/limits.ts'
import { removalsOf, type RunRequest, selectionByOffer } from '../contract/run.ts'
import type { ModelChooser, Report, Setup } from '../contract/setup.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import { edgeName, foreignNames, nameOf, operatorNames } from '../contract/tool-names.ts'
import {
  type Caller,
  failure,
  type Tool,
  type ToolOutcome,
  type ToolRequest,
  toolNamesOf,
  type ToolSource,
  ToolsUnavailable,
} from '../contract/tool.ts'
import { controlSignal } from '../contract/time-limit.ts'
import { toolChanged } from '../tool/pinned-tools.ts'
import { checkSchema } from '../schema/check.ts'
import { fittingArguments } from '../schema/validate.ts'
import { chain } from '../host/source/chain.ts'
import { effectsOf } from './effects.ts'
import { loopPorts, memoryJournal } from './running.ts'
import { run } from './drive.ts'
import { undoableCalls, undoAgentCalls } from './perform/undo.ts'
import { newState, type RunState } from './state.ts'

/** What agents need of an edge. A `Setup` has all of it. */
export interface AgentPorts {
  readonly models: ModelChooser
  /** The source of their tools. Default: no tools. */
  readonly tools?: (caller: Caller) => ToolSource
  /** Binds the agents as tools of one another by the rules of the edge, such as its policies. Default: nothing binds them. */
  readonly bindTools?: Setup['bindTools']
  readonly loop?: LoopSetup | undefined
  /** The limits of the edge; an agent can only lower them. Default: the initial limits, with the taint rule on. */
  readonly config?: Pick<Config, 'taintRule'> & Partial<Pick<Config, 'limits'>>
  /** Receives log entries for operators about the agent's own calls. Default: nothing is logged. */
  readonly report?: Report
  readonly now?: () => number
}

const QUESTION_SCHEMA = {
  type: 'object',
  properties: { question: { type: 'string', description: 'What to ask, with all that is needed to answer it.' } },
  required: ['question'],
}

/** How many levels deep agents may call agents. */
const MAX_DEPTH = 4
const DEPTH = 'edgecall.depth'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Makes a source of tools from agents. Each call performs a run of its own, whose usage counts towards the calling run.
 *
 * In a run that is stored it has a conversation of its own, lasts up to days, may wait for people and survives the loss of
 * either object; the call answers later. That of an agent with `durable: false`, in a run that is not stored, or of a
 * Worker of agents is not stored: its events reach readers as progress of the call (`data: { event }`), its tools cannot wait, and it ends when the call times
 * out or is cancelled. Agents of one source may name each other among their tools. Throws a TypeError for an invalid or duplicate name, a blank
 * description, and an invalid input schema.
 */
export function agentSource(agents: readonly AgentOptions[], ports: AgentPorts): ToolSource {
  const names = agents.map(({ name }) => name)
  if (new Set(names).size < names.length) throw new TypeError('Two agents have one name')
  const invalid = agents.find(({ name, description }) => !TOOL_NAME.test(name) || description.trim() === '')
  if (invalid)
    throw new TypeError(`The agent "${invalid.name}" needs a name like ${TOOL_NAME.source} and a description`)
  for (const { name, input = QUESTION_SCHEMA } of agents) {
    const [issue] = checkSchema(input, 'any')
    if (issue) throw new TypeError(`The agent "${name}": input: ${issue.path || 'it'}: ${issue.message}`)
  }
  const find = (toolNames: readonly string[]) =>
    Promise.all(
      agents.filter(({ name }) => toolNames.includes(name)).map((agent) => agentTool(agent, { ...ports, tools })),
    )
  // Agents can find one another by name, but are not offered to one another by default.
  const siblings: ToolSource = { find, list: async () => ({ tools: [], unavailable: [] }), offered: async () => [] }
  const boundSiblings = ports.bindTools?.(siblings) ?? (() => siblings)
  const tools = (caller: Caller) => chain([...(ports.tools ? [ports.tools(caller)] : []), boundSiblings(caller)])
  return {
    find,
    list: async () => ({ tools: await find(names), unavailable: [] }),
    offered: () => find(names),
  }
}

/**
 * Makes a tool from one agent, as `agentSource` does from several.
 *
 * @example
 * const instructions = 'Answer from the law of Germany, and name the paragraph.'
 * const tool = await agentTool({ name: 'legal', description: 'Answers legal questions.', instructions }, { models })
 */
export async function agentTool(agent: AgentOptions, ports: AgentPorts): Promise<Tool> {
  const { name, description, input = QUESTION_SCHEMA, output, instructions, template, ...rest } = agent
  const {
    model: _,
    tools: _tools,
    limits: _limits,
    compensate: _compensate,
    memory: _memory,
    durable: _durable,
    ...terms
  } = rest
  const declaration = { name, description, inputSchema: input, outputSchema: output }
  const definition: ToolDefinition = {
    version: '1',
    annotations: {},
    ...terms,
    ...declaration,
    hash: await hashOf(agent, { ...declaration, instructions, template }),
    callsTools: true,
    ...(agent.compensate && { undo: true }),
  }
  return {
    definition,
    origin: 'agent',
    place: `agent ${name}`,
    offered: true,
    ...(agent.durable !== false && { startsRuns: true }),
    ownTools: ports.tools,
    call: async (request, control: AgentControl) => {
      if (request.hash !== definition.hash) return toolChanged(name)
      const fitting = fittingArguments(definition, request.arguments)
      return fitting.ok ? runAgent(agent, ports, { ...request, arguments: fitting.value }, control) : fitting
    },
    ...(agent.compensate && {
      undo: async (request, outcome) => {
        const state = newState(await requestOf(agent, ports, { request, model: agent.model ?? '' }), new Map())
        const { loop = {}, report } = loopPorts(ports, state.request.runId)
        const signal = new AbortController().signal
        const undoPorts = { state, loop, report, signal, now: ports.now ?? Date.now, history: [], prompt: undefined }
        return undoAgentCalls(outcome, ports.tools?.(request.context.caller), undoPorts)
      },
    }),
  }
}

/** The hashes of agents, which this isolate has made. */
const hashes = new WeakMap<AgentOptions, string>()

async function hashOf(agent: AgentOptions, declaration: object): Promise<string> {
  const hash = hashes.get(agent) ?? (await sha256(canonicalJson(declaration)))
  hashes.set(agent, hash)
  return hash
}

async function runAgent(
  agent: AgentOptions,
  ports: AgentPorts,
  request: ToolRequest,
  control: AgentControl,
): Promise<ToolOutcome> {
  const resolved = ports.models.resolve(agent.model)
  if (!resolved.ok) return failure('agent_failed', `The agent "${agent.name}" has no model.`, resolved.message)
  const timeLeft = control.startRun ? { timeLeft: MOST_LATER_MS } : {}
  const innerRequest = await requestOf(agent, ports, { request, model: resolved.name, ...timeLeft })
  if (Number(innerRequest.trusted?.[DEPTH]) > MAX_DEPTH)
    return failure('agent_too_deep', 'Agents call agents too deeply here. Answer without calling another one.')
  const { now = Date.now } = ports
  const source = ports.tools?.(request.context.caller)
  const tools = await toolsOf(agent, source)
  const misnaming = source && (await findMisnaming(agent, source, tools))
  if (misnaming !== undefined)
    return failure(
      'agent_failed',
      `The agent "${agent.name}" cannot be asked: its tools are not as they should be.`,
      misnaming,
    )
  const definitions = tools.map(({ definition }) => definition)
  if (control.startRun) return control.startRun({ run: innerRequest, tools: definitions, memory: agent.memory })
  let lastProgress = Promise.resolve()
  const state = await run(
    newState(innerRequest, new Map(definitions.map((each) => [each.name, each])), ports.loop?.features),
    {
      model: resolved.model,
      tools: new Map(tools.map((tool) => [tool.definition.name, tool])),
      find: async (names) => source?.find(names) ?? [],
      history: [],
      marks: request.context.marks ?? [],
      journal: memoryJournal(innerRequest.runId, (event) => {
        if (event.type !== 'run.finished') lastProgress = control.progress({ data: { event } }).catch(() => {})
      }),
      signal: controlSignal(control),
      now,
      ...loopPorts(ports, innerRequest.runId),
    },
  )
  // Over RPC, progress events arrive in order, but the outcome could overtake them.
  await lastProgress
  return agentOutcome(state, agent.name)
}

/** Returns the outcome of the call of an agent whose run has ended. */
export function agentOutcome(state: RunState, agent: string): ToolOutcome {
  const { responseFormat, compensate } = state.request
  const { status, answer = '', error } = state.finished ?? {}
  const calls = effectsOf(state)
  const accounting = {
    usage: state.usage,
    ...(state.marks.size > 0 && { marks: [...state.marks] }),
    ...(calls.length > 0 && { calls }),
  }
  if (status !== 'completed') {
    const { message = 'it was stopped' } = error ?? {}
    return { ...failure('agent_failed', `The agent "${agent}" failed: ${message}`), ...accounting }
  }
  const structured = responseFormat && readExactly(answer)
  const metadata = compensate && undoableCalls(state)
  return {
    ok: true,
    content: [{ type: 'text', text: answer }],
    ...(structured !== undefined && { structured }),
    ...(metadata && { metadata }),
    ...accounting,
  }
}

/** Returns the agent's limits, at most those of the edge, except for its time: `timeLeft` bounds that. */
function limitsOf({ limits, timeoutMs }: AgentOptions, timeLeft: number, most: Limits = DEFAULT_LIMITS): Limits {
  const own = { steps: 20, calls: 60, ...limits }
  const runMs = limits?.runMs ?? timeoutMs ?? DAY_MS
  return { ...lowerLimits(most, own), runMs: Math.max(1, Math.min(runMs, timeLeft)) }
}

/**
 * Builds the request of the agent's run, which is the same whether or not that is stored, but for its time: `timeLeft` is
 * that of the call. Its id is derived from the call's key, so that every attempt has the same id.
 */
async function requestOf(
  agent: AgentOptions,
  { config, now = Date.now }: AgentPorts,
  { request, model, timeLeft = request.context.deadline - now() }: AgentRequest,
): Promise<RunRequest> {
  const { name, instructions, template = '{{question}}', output, compensate = false, tools } = agent
  const { arguments: args, context } = request
  return {
    runId: await deriveRunId(context.idempotencyKey, name),
    durable: false,
    caller: context.caller,
    input: [{ role: 'user', content: render(template, args) }],
    system: instructions,
    model,
    clientTools: [],
    execution: 'edge',
    toolErrors: 'model',
    compensate,
    limits: limitsOf(agent, timeLeft, config?.limits),
    ...(tools && { selection: selectionByOffer(tools) }),
    ...(output && { responseFormat: { type: 'json_schema', name, schema: output } as const }),
    ...(config?.taintRule === false && { taintRule: false }),
    context: context.values,
    trusted: { ...context.trusted, [DEPTH]: Number(context.trusted?.[DEPTH] ?? 0) + 1 },
  }
}

interface AgentRequest {
  readonly request: ToolRequest
  readonly model: string
  /** In milliseconds. Default: until the deadline of the call. */
  readonly timeLeft?: number
}

async function toolsOf({ name, tools }: AgentOptions, source: ToolSource | undefined): Promise<readonly Tool[]> {
  if (!source || tools === undefined) return []
  const selection = selectionByOffer(tools)
  if ('length' in selection) return source.find(selection)
  const { add = [] } = selection
  const removals = removalsOf(selection)
  const [offered, additions] = await Promise.all([source.offered(), source.find(add)])
  const all = new Map([...offered, ...additions].map((tool) => [tool.definition.name, tool]))
  return [...all.values()].filter(({ definition }) => definition.name !== name && !removals.includes(definition.name))
}

/**
 * Returns what is wrong with the names of tools by which an agent is restricted: a misspelled one would restrict nothing.
 * Tools that policies hide from the caller have their names all the same.
 */
async function findMisnaming(
  { tools: selection, limits }: AgentOptions,
  source: ToolSource,
  tools: readonly Tool[],
): Promise<string | undefined> {
  const removals = removalsOf(selection && selectionByOffer(selection))
  const names = [...removals, ...Object.keys(limits?.tools ?? {}).map(edgeName)]
  const onOffer = new Set(
    tools.flatMap(({ definition }) => [...operatorNames(definition), ...foreignNames(definition)]),
  )
  const others = names.filter((name) => !onOffer.has(name))
  if (others.length === 0) return undefined
  try {
    const standings = await toolNamesOf(source, others)
    const unknown = others.find((name) => !standings.has(name))
    return unknown === undefined ? undefined : `There is no tool "${nameOf(unknown) ?? unknown}", which it restricts.`
  } catch (error) {
    if (error instanceof ToolsUnavailable) return error.message
    throw error
  }
}

/**
 * Replaces each `{{field}}` by the field's value: a string as it is, any other value as JSON. An absent field is empty.
 */
function render(template: string, args: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{\{\s*([\w-]+)\s*\}\}/g, (_, field: string) => {
    const value = Object.hasOwn(args, field) ? args[field] : ''
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}
