import { createEdge, mcp, openaiFromEnv, storedTools } from 'edgecall'
export { Catalog, Directory } from 'edgecall'

// `storedTools` also records which definitions of other servers' tools are accepted.
const edge = createEdge({ providers: { openai: openaiFromEnv }, surfaces: [mcp], stored: storedTools })
export const { Conversation } = edge
export default edge
