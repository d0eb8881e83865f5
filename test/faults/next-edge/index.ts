/** The next version of the edge: another bundle, of fewer parts, which asks its model with a key in its code. */
import { createEdge, openai, schedules } from '../../../src/edge.ts'
import { textOf } from '../../../src/edge/env.ts'
import { NEXT_KEY } from './key.ts'

export { Catalog } from '../../../src/edge.ts'

const edge = createEdge({
  providers: { openai: (env) => openai({ baseUrl: textOf(env, 'OPENAI_BASE_URL'), apiKey: NEXT_KEY }) },
  use: [schedules],
})

export const { Conversation, Directory, Schedules } = edge
export default edge
