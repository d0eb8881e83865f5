/** The edge of `npm start`: with the offline model among its providers. It is never deployed. */
import { createEdge } from './edge.ts'
import { everything } from './everything.ts'
import { offlineRules } from './model/offline-rules.ts'

export { Catalog, Directory } from './edge.ts'

const edge = createEdge({ ...everything, providers: { ...everything.providers, offline: () => offlineRules } })

export const { Conversation } = edge
export default edge
