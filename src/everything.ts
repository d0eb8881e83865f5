/**
 * The door for an edge with all parts, and for its pages: the studio and the OpenAPI document. They are texts beside
 * the code, so they have a door of their own.
 *
 * @example
 * import { createEdge } from 'edgecall'
 * import { everything } from 'edgecall/everything'
 * export { Catalog } from 'edgecall'
 *
 * const edge = createEdge({ ...everything, hooks: [hook] })
 * export const { Conversation, Directory } = edge
 * export default edge
 */
export { everything, studio } from './edge/everything.ts'
export { openApi } from './http/surfaces/openapi.ts'
