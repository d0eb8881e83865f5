import { chatCompletions, createEdge, openaiFromEnv, uiChat } from 'edgecall'
import { studio } from 'edgecall/everything'
export { Directory } from 'edgecall'

const edge = createEdge({ providers: { openai: openaiFromEnv }, use: [studio, chatCompletions, uiChat] })
export const { Conversation } = edge
export default edge
