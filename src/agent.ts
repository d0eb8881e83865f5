/** The door for agents: models with their own instructions and tools, called as tools. */
import { WorkerEntrypoint } from 'cloudflare:workers'
import type { AgentOptions } from './contract/agent.ts'
import { type MakeSetup, type Setup, setupOf } from './contract/setup.ts'
import type {
  Caller,
  Tool,
  ToolControl,
  ToolDescription,
  ToolOutcome,
  ToolRequest,
  ToolService,
  ToolSource,
  ToolSuccess,
} from './contract/tool.ts'
import { failure } from './contract/tool.ts'
import { readPolicies } from './host/policy/policies.ts'
import { applyPolicies } from './host/policy/source.ts'
import { agentSource } from './loop/agent.ts'

export type { AgentOptions } from './contract/agent.ts'
export { type AgentPorts, agentSource, agentTool } from './loop/agent.ts'
export type { MakeSetup } from './contract/setup.ts'
export type { ToolTerms } from './contract/tool-definition.ts'
export type { JsonSchema } from './contract/json.ts'
export type { ToolSelection } from './contract/run.ts'

/**
 * Returns the agent with its literal types: `export const triage = defineAgent({ name, description, instructions })`.
 */
export function defineAgent<const Agent extends AgentOptions>(agent: Agent): Agent {
  return agent
}

/**
 * Makes the Worker of these agents: `export default serveAgents(setup, [legal, medical])`. Bound to an edge as a
 * service named `TOOL_*`, it is a tool Worker like any other. The edge lists an agent that has no model as unavailable,
 * with the reason.
 */
export function serveAgents<Env extends object>(
  makeSetup: MakeSetup<Env>,
  agents: readonly AgentOptions[],
): new (ctx: ExecutionContext, env: Env) => WorkerEntrypoint<Env> & ToolService {
  return class extends WorkerEntrypoint<Env> {
    async describe(): Promise<ToolDescription> {
      const setup = setupOf(makeSetup, this.env)
      const unavailable = agents.flatMap(({ name, model }) => {
        const resolved = setup.models.resolve(model)
        return resolved.ok ? [] : [{ name, reason: `It has no model: ${resolved.message}` }]
      })
      const missing = new Set(unavailable.map(({ name }) => name))
      const { tools } = await agentSource(agents, setup).list()
      const definitions = tools.map(({ definition }) => definition).filter(({ name }) => !missing.has(name))
      return { contract: 1, source: 'agent', tools: definitions, unavailable }
    }

    async call(request: ToolRequest, control: ToolControl = NOBODY): Promise<ToolOutcome> {
      const { name, hash } = request
      const agent = await findAgent(setupOf(makeSetup, this.env), agents, request)
      if (!agent) return failure('unknown_tool', `There is no agent "${name}" here.`)
      if (agent.definition.hash !== hash) return failure('schema_mismatch', `The agent "${name}" has changed.`)
      return agent.call(request, control)
    }

    async undo(request: ToolRequest, outcome: ToolSuccess): Promise<ToolOutcome> {
      const agent = await findAgent(setupOf(makeSetup, this.env), agents, request)
      return agent?.undo?.(request, outcome) ?? failure('unknown_tool', `There is no agent "${request.name}" here.`)
    }

    override fetch(): Response {
      return new Response('An agent Worker answers only over its service binding.\n', { status: 404 })
    }
  }
}

/** Finds the agent of a request. The policies of the edge that asks bind the tools of this Worker too. */
async function findAgent(
  setup: Setup,
  agents: readonly AgentOptions[],
  { name, context }: ToolRequest,
): Promise<Tool | undefined> {
  const policies = readPolicies({ TOOL_POLICY: context.policies })
  const bind = (source: (caller: Caller) => ToolSource) => applyPolicies(source, { policies, rates: setup.rates ?? {} })
  const bindTools = (source: ToolSource) => bind(setup.bindTools?.(source) ?? (() => source))
  const [agent] = await agentSource(agents, { ...setup, tools: bind(setup.tools), bindTools }).find([name])
  return agent
}

/** The control of a host that takes no news and never aborts. */
const NOBODY: ToolControl = { whenAborted: () => new Promise(() => {}), progress: async () => {} }
