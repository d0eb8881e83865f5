/** The reference edge Worker, with everything in it. Yours may name less: see docs/parts.md. */
import { createEdge, serveOutcomes } from './edge.ts'
import { everything } from './everything.ts'

export { Catalog } from './edge.ts'

const edge = createEdge(everything)

export const { Conversation, Directory, Schedules } = edge
/** Where Workers report over a service binding. */
export const Outcomes = serveOutcomes(edge.setup)
export default edge
