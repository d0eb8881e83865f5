import { createEdge, identityTokens, openaiFromEnv, uiChat } from 'edgecall'
export { Directory } from 'edgecall'

const edge = createEdge({ providers: { openai: openaiFromEnv }, use: [uiChat, identityTokens] })
export const { Conversation } = edge
export default edge
