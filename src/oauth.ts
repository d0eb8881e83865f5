/**
 * The door for an edge at which people sign in with an API key, as an OAuth 2.1 authorization server of its own: for
 * operators who have no identity provider.
 *
 * @example
 * import { createEdge } from 'edgecall'
 * import { everything } from 'edgecall/everything'
 * import { authorizationServer } from 'edgecall/oauth'
 * export { Catalog } from 'edgecall'
 *
 * const edge = createEdge({ ...everything, use: [...everything.use, authorizationServer()] })
 * export const { Conversation, Directory, Schedules } = edge
 * export default edge
 */
export { authorizationServer, type AuthorizationServerOptions } from './edge/authorization-server.ts'
