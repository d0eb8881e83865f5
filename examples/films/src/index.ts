import { chatCompletions, createEdge, openaiFromEnv, reportedOutcomes } from 'edgecall'
import { studio } from 'edgecall/everything'
export { Directory } from 'edgecall'

const edge = createEdge({
  providers: { openai: openaiFromEnv },
  surfaces: [studio, chatCompletions],
  outcomes: reportedOutcomes,
})
export const { Conversation } = edge
export default edge
