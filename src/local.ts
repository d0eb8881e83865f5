/** The door of `npm start`: the edge with the offline model among its providers. It is never deployed. */
import { catalogue } from './catalogue/catalogue.ts'
import { conversation } from './conversation/conversation.ts'
import { Directory } from './conversation/directory.ts'
import { edge } from './http/app/edge.ts'
import openapi from './http/openapi.txt'
import { offlineRules } from './model/offline-rules.ts'
import { catalogueParts, type Env, setup } from './setup.ts'
import page from './studio/page.html'
import { PAGE_POLICY } from './studio/page-policy.ts'

const local = (env: Env) => setup(env, { offline: offlineRules })

export class Conversation extends conversation(local) {}
export class Catalog extends catalogue(catalogueParts) {}
export { Directory }
export default edge(local, { html: page, policy: PAGE_POLICY }, openapi)
