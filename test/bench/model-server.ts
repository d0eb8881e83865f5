import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A Chat Completions server that asks for `squareRoot` as many times as the model's name says, then answers:
 * `steps-10` asks ten times, `tokens-2000` answers at once with 2,000 tokens, `slow-8` says the first of 8 at once and
 * the others a little later, `search-1` asks for tools once. What it does depends on the request alone.
 */
export async function startModelServer(): Promise<ModelServer> {
  let spokeAt = 0
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const { model, messages }: { model: string; messages: { role: string }[] } = JSON.parse(body)
      const [kind = '', count = '0'] = model.split('-')
      const turn = messages.slice(messages.findLastIndex((message) => message.role === 'user'))
      const asked = turn.filter((message) => message.role === 'assistant').length
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (kind === 'slow') {
        const [role = '', first = '', ...others] = text(Number(count))
        spokeAt = performance.now()
        response.write(role + first)
        setTimeout(() => response.end(others.join('')), PAUSE_MS)
        return
      }
      const isDone = kind === 'tokens' || asked >= Number(count)
      const next = () =>
        kind === 'search' ? call(asked, { name: 'tool_search', arguments: JSON.stringify(SEARCH) }) : call(asked)
      const chunks = isDone ? text(kind === 'tokens' ? Number(count) : 8) : next()
      // Eight events a write, as a burst of a fast model is.
      for (let at = 0; at < chunks.length; at += 8) response.write(chunks.slice(at, at + 8).join(''))
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.keepAliveTimeout = 60_000
  return { url: `http://127.0.0.1:${portOf(server)}/v1`, close: () => server.close(), spokeAt: () => spokeAt }
}

export interface ModelServer {
  readonly url: string
  readonly close: () => void
  /** When a slow model last wrote its first token, by `performance.now()`. */
  readonly spokeAt: () => number
}

/** Longer than a token takes to its reader. */
const PAUSE_MS = 10

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

/** What the model searches for. */
export const SEARCH = { query: 'refund the payment of an order in stripe' }

function call(number: number, wanted = { name: 'squareRoot', arguments: `{"number":${number + 2}}` }): string[] {
  const { name, arguments: args } = wanted
  const started = { index: 0, id: `c${number}`, type: 'function', function: { name, arguments: '' } }
  const rest = { index: 0, function: { arguments: args } }
  return [
    chunk({ role: 'assistant', content: '' }),
    chunk({ tool_calls: [started] }),
    chunk({ tool_calls: [rest] }),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ]
}

function text(tokens: number): string[] {
  const words = Array.from({ length: tokens }, (_, index) => chunk({ content: `word${index % 10} ` }))
  return [chunk({ role: 'assistant', content: '' }), ...words, chunk({}, 'stop'), 'data: [DONE]\n\n']
}

function chunk(delta: object, finish: string | null = null): string {
  const choice = { index: 0, delta, finish_reason: finish }
  const body = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] }
  return `data: ${JSON.stringify(body)}\n\n`
}
