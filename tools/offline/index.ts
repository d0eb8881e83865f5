/**
 * The offline model of `npm start`: a server that speaks Chat Completions and answers by fixed rules, with no network and
 * no key. It chooses among the offered tools by their definitions alone, and refuses what none of them can do.
 */
import { MODEL, readRequest, RequestError, respond } from './chat.ts'
import { nextStep } from './plan.ts'

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  const route = `${request.method} ${pathname}`
  if (route === 'GET /v1/models') {
    return Response.json({ object: 'list', data: [{ id: MODEL, object: 'model', created: 0, owned_by: 'edgecall' }] })
  }
  if (route !== 'POST /v1/chat/completions') {
    throw new RequestError(`There is no ${route} here.`, { status: 404, code: 'not_found' })
  }
  const body: unknown = await request.json().catch(() => {
    throw new RequestError('The body is not JSON.')
  })
  const chat = readRequest(body)
  return respond(nextStep(chat.conversation), chat, Math.floor(Date.now() / 1000))
}

export default {
  async fetch(request: Request): Promise<Response> {
    try {
      return await answer(request)
    } catch (error) {
      const { message, status, code } =
        error instanceof RequestError
          ? error
          : { message: `The rules failed: ${String(error)}`, status: 500, code: 'server_error' }
      const type = status === 500 ? 'server_error' : 'invalid_request_error'
      return Response.json({ error: { message, type, param: null, code } }, { status })
    }
  },
}
