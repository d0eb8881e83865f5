/** The door of the deployed edge Worker. */
import { conversation } from './conversation/conversation.ts'
import { Directory } from './conversation/directory.ts'
import { edge } from './http/edge.ts'
import page from './http/playground.html'
import { setup } from './setup.ts'

export class Conversation extends conversation(setup) {}
export { Directory }
export default edge(setup, page)
