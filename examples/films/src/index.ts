import { chatCompletions, createEdge, openaiFromEnv, reportedOutcomes } from 'edgecall'
import { studio } from 'edgecall/everything'
export { Directory } from 'edgecall'

const edge = createEdge({
  providers: { openai: openaiFromEnv },
  use: [studio, chatCompletions, reportedOutcomes],
})
export const { Conversation } = edge
export default edge
