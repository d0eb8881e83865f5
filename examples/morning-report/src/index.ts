import { createEdge, metrics, openaiFromEnv, runList, schedules } from 'edgecall'
import { agentSource } from 'edgecall/agent'
import { checker, collector, editor } from './agents.ts'

const edge = createEdge({
  providers: { openai: openaiFromEnv },
  // `metrics` and `runList` have the list of what waits for a person, `GET /approvals`.
  use: [schedules, metrics, runList],
  sources: (setup) => [agentSource([editor, collector, checker], setup)],
})
export const { Conversation, Directory, Schedules } = edge
export default edge
