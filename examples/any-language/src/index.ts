import { chatCompletions, createEdge, openaiFromEnv } from 'edgecall'
export { Directory } from 'edgecall'

const edge = createEdge({ providers: { openai: openaiFromEnv }, use: [chatCompletions] })
export const { Conversation } = edge
export default edge
