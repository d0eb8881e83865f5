/** The door of the deployed edge Worker. */
import { catalogue } from './catalogue/catalogue.ts'
import { conversation } from './conversation/conversation.ts'
import { Directory } from './conversation/directory.ts'
import { edge } from './http/app/edge.ts'
import openapi from './http/openapi.txt'
import { catalogueParts, setup } from './setup.ts'
import page from './studio/page.html'
import { PAGE_POLICY } from './studio/page-policy.ts'

export class Conversation extends conversation(setup) {}
export class Catalog extends catalogue(catalogueParts) {}
export { Directory }
export default edge(setup, { html: page, policy: PAGE_POLICY }, openapi)
