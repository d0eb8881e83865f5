import { createEdge, mcp, openaiFromEnv, storedTools, toolPolicies } from 'edgecall'
export { Catalog, Directory } from 'edgecall'

// `storedTools` also records which definitions of other servers' tools are accepted.
const edge = createEdge({
  providers: { openai: openaiFromEnv },
  use: [mcp, storedTools, toolPolicies],
})
export const { Conversation } = edge
export default edge
