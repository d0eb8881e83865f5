/**
 * The offline model of `npm start`: a server that speaks Chat Completions and answers by fixed rules, with no network and
 * no key. It chooses among the offered tools by their definitions alone, and refuses what none of them can do.
 */
import { MODEL, problem, readRequest, respond } from './chat.ts'
import { nextStep } from './plan.ts'

export default {
  async fetch(request: Request): Promise<Response> {
    const now = Math.floor(Date.now() / 1000)
    const route = `${request.method} ${new URL(request.url).pathname}`
    if (route === 'GET /v1/models') {
      return Response.json({ object: 'list', data: [{ id: MODEL, object: 'model', created: 0, owned_by: 'edgecall' }] })
    }
    if (route !== 'POST /v1/chat/completions') return problem(`There is no ${route} here.`, 'not_found', 404)
    const chat = readRequest(await request.json().catch(() => undefined))
    return chat instanceof Response ? chat : respond(nextStep(chat.conversation), chat, now)
  },
}
