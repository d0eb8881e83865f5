/** The door for agents: models with instructions and tools of their own, asked as tools are called. */
import { WorkerEntrypoint } from 'cloudflare:workers'
import type { AgentOptions } from './contract/agent.ts'
import type { MakeSetup, Setup } from './contract/setup.ts'
import type { ToolControl, ToolDescription, ToolOutcome, ToolRequest, ToolService } from './contract/tool.ts'
import { failure } from './contract/tool.ts'
import { agentSource } from './loop/agent.ts'

export type { AgentOptions } from './contract/agent.ts'
export { agentSource, agentTool } from './loop/agent.ts'

/** An agent, with its literal types: `export const triage = defineAgent({ name, description, instructions })`. */
export function defineAgent<const Agent extends AgentOptions>(agent: Agent): Agent {
  return agent
}

/**
 * The entrypoint of a Worker that has agents: `export class Agents extends serveAgents(setup, [legal, medical]) {}`. Bound to
 * an edge as a service named `TOOL_*`, it is a tool Worker like any other.
 */
export function serveAgents<Env extends object>(
  makeSetup: MakeSetup<Env>,
  agents: readonly AgentOptions[],
): new (ctx: ExecutionContext, env: Env) => WorkerEntrypoint<Env> & ToolService {
  return class extends WorkerEntrypoint<Env> {
    async describe(): Promise<ToolDescription> {
      const { tools } = await this.#source().list()
      return { contract: 1, tools: tools.map(({ definition }) => definition) }
    }

    async call(request: ToolRequest, control?: ToolControl): Promise<ToolOutcome> {
      const [tool] = await this.#source().find([request.name])
      if (!tool) return failure('unknown_tool', `There is no agent "${request.name}" here.`)
      const nobody: ToolControl = { whenAborted: () => new Promise(() => {}), progress: async () => {} }
      return tool.call(request, control ?? nobody)
    }

    #source() {
      const { models, tools, loop }: Setup = makeSetup(this.env)
      return agentSource(agents, { models, tools, ...(loop && { loop }) })
    }
  }
}
