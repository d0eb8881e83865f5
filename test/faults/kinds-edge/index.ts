/** The edge with agents, of which one calls the other. */
import { agentSource } from '../../../src/agent.ts'
import type { AgentOptions } from '../../../src/contract/agent.ts'
import { createEdge } from '../../../src/edge.ts'
import { everything } from '../../../src/everything.ts'

export { Catalog } from '../../../src/edge.ts'

const EFFECTS = ['plain', 'idempotent', 'readOnly', 'approved', 'later', 'tellsOutcome', 'tellsDone', 'tellsNothing']

const agent = (name: string, tools: readonly string[]): AgentOptions => {
  return { name, description: `Does what it is told, as the ${name}.`, instructions: name, tools, durable: true }
}

const edge = createEdge({
  ...everything,
  sources: (setup) => [agentSource([agent('boss', ['clerk', ...EFFECTS]), agent('clerk', EFFECTS)], setup)],
})

export const { Conversation, Directory, Schedules } = edge
export default edge
