/** The door of the deployed edge Worker. */
import { catalogue } from './catalogue/catalogue.ts'
import { conversation } from './conversation/conversation.ts'
import { Directory } from './conversation/directory.ts'
import { edge } from './http/app/edge.ts'
import openapi from './http/openapi.txt'
import page from './http/playground.html'
import { catalogueParts, setup } from './setup.ts'

export class Conversation extends conversation(setup) {}
export class Catalog extends catalogue(catalogueParts) {}
export { Directory }
export default edge(setup, page, openapi)
