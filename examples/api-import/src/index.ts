import { chatCompletions, createEdge, openaiFromEnv, storedTools, toolSearch } from 'edgecall'
export { Catalog, Directory } from 'edgecall'

const edge = createEdge({
  providers: { openai: openaiFromEnv },
  // A large API has more operations than a model should be sent at once: `toolSearch` lets it look for them.
  use: [chatCompletions, storedTools, toolSearch()],
})
export const { Conversation } = edge
export default edge
