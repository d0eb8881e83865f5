import { chatCompletions, createEdge, openaiFromEnv } from 'edgecall'
import { agentSource } from 'edgecall/agent'
import { editor, researcher, reviewer } from './agents.ts'
export { Directory } from 'edgecall'

const edge = createEdge({
  providers: { openai: openaiFromEnv },
  use: [chatCompletions],
  sources: (setup) => [agentSource([editor, researcher, reviewer], setup)],
})
export const { Conversation } = edge
export default edge
