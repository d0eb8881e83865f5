import { createEdge, identityTokens, openaiFromEnv, uiChat } from 'edgecall'
export { Directory } from 'edgecall'

const edge = createEdge({ providers: { openai: openaiFromEnv }, surfaces: [uiChat], identity: identityTokens })
export const { Conversation } = edge
export default edge
