import { chatCompletions, createEdge, openaiFromEnv, storedTools, toolSearch } from 'edgecall'
export { Catalog, Directory } from 'edgecall'

const edge = createEdge({
  providers: { openai: openaiFromEnv },
  surfaces: [chatCompletions],
  stored: storedTools,
  // A large API has more operations than a model should be sent at once.
  search: toolSearch(),
})
export const { Conversation } = edge
export default edge
