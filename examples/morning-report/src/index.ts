import {
  approvers,
  createEdge,
  mailApprovers,
  metrics,
  openaiFromEnv,
  runList,
  schedules,
  toolPolicies,
} from 'edgecall'
import { agentSource } from 'edgecall/agent'
import { checker, collector, editor } from './agents.ts'

const edge = createEdge({
  providers: { openai: openaiFromEnv },
  use: [
    schedules,
    // These have the list of what waits for a person, `GET /approvals`.
    metrics,
    runList,
    toolPolicies,
    // Who decides, by the address, and the id of the API key as which each does.
    approvers({
      desk: mailApprovers({ binding: 'MAIL', from: 'reports@example.com', people: { 'chief@example.com': 'chief' } }),
    }),
  ],
  sources: (setup) => [agentSource([editor, collector, checker], setup)],
})
export const { Conversation, Directory, Schedules } = edge
export default edge
