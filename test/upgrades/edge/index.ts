/** The edge that upgrades and rollbacks are tested with: everything, and agents of which one calls the other. */
import { createEdge } from 'edgecall'
import { agentSource, defineAgent } from 'edgecall/agent'
import { everything } from 'edgecall/everything'

export { Catalog } from 'edgecall'

const clerk = defineAgent({
  name: 'clerk',
  description: 'Pays and notes what it is told.',
  instructions: 'You are the clerk.',
  tools: ['note', 'pay'],
})
const boss = defineAgent({
  name: 'boss',
  description: 'Has the clerk do what it is told.',
  instructions: 'You are the boss.',
  tools: ['clerk'],
})
const edge = createEdge({ ...everything, sources: (setup) => [agentSource([clerk, boss], setup)] })

export const { Conversation, Directory, Schedules } = edge
export default edge
