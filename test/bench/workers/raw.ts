import { DurableObject } from 'cloudflare:workers'
import { manyTools } from '../many-tools.ts'
import { type Definition, FEW } from './definitions.ts'

/**
 * The floors: the least that a loop of tool calling can be, written as one would on an afternoon. Nothing is checked,
 * limited or retried.
 *
 * - `POST /raw` asks the model for a stream only if its caller wants one;
 * - `POST /raw-sse` always does, as the edge does;
 * - `POST /raw-do/{id}` runs in a Durable Object that writes every message to SQLite, and reads the last 200 first.
 *
 * `?tools=many` offers 500 tools more.
 */
interface Env {
  readonly RAW: DurableObjectNamespace<Conversation>
  readonly TOOLS: { call(name: string, args: object): Promise<object> }
  readonly MODEL_URL: string
}

interface Body {
  readonly model: string
  readonly messages: object[]
  readonly stream?: boolean
  readonly tools?: readonly object[]
}

interface Call {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

interface Answer {
  readonly content: string
  readonly calls: readonly Call[]
}

/** Where a loop's messages and text go. */
interface Sink {
  readonly onMessage?: (message: object) => unknown
  /** Present if the caller wants a stream. */
  readonly onText?: ((text: string) => void) | undefined
}

interface Delta {
  content?: string
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[]
}

const LEAST = FEW.map(toChatTool)
const MOST = [...LEAST, ...manyTools(500).map(toChatTool)]

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.method === 'GET') return new Response('')
    const { pathname, searchParams } = new URL(request.url)
    const [, floor, id] = pathname.split('/')
    const requestBody = await request.json<Body>()
    const body = { ...requestBody, tools: requestBody.tools ?? (searchParams.get('tools') === 'many' ? MOST : LEAST) }
    if (id !== undefined) {
      const stub = env.RAW.getByName(id)
      if (!body.stream) return Response.json(await stub.run(body))
      return new Response(await stub.stream(body), { headers: { 'content-type': 'text/event-stream' } })
    }
    const streams = floor === 'raw-sse' || body.stream === true
    if (!body.stream) return Response.json(await loop(env, body, streams))
    return new Response(
      streamed((onText) => loop(env, body, streams, { onText })),
      {
        headers: { 'content-type': 'text/event-stream' },
      },
    )
  },
}

export class Conversation extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, json TEXT NOT NULL)')
  }

  async run({ messages, ...body }: Body, onText?: (text: string) => void): Promise<object> {
    const { sql } = this.ctx.storage
    const rows = sql.exec<{ json: string }>('SELECT json FROM messages ORDER BY id DESC LIMIT 200').toArray().reverse()
    const history: object[] = rows.map((row) => JSON.parse(row.json))
    const onMessage = (message: object) => {
      sql.exec('INSERT INTO messages (json) VALUES (?)', JSON.stringify(message))
    }
    messages.forEach(onMessage)
    return loop(this.env, { ...body, messages: [...history, ...messages] }, body.stream === true, { onMessage, onText })
  }

  stream(body: Body): ReadableStream<Uint8Array> {
    return streamed((onText) => this.run(body, onText))
  }
}

/** Makes a stream of Chat Completions chunks of the text that `run` reports. */
function streamed(run: (onText: (text: string) => void) => Promise<object>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    type: 'bytes',
    start(controller) {
      const onText = (content: string) => {
        const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: null }] }
        controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`))
      }
      // Not awaited: nothing is read of a stream before its start is over.
      void run(onText).then(
        () => controller.close(),
        (error: unknown) => controller.error(error),
      )
    },
  })
}

async function loop(
  env: Env,
  body: Body,
  streams: boolean,
  { onMessage = () => {}, onText = () => {} }: Sink = {},
): Promise<object> {
  const { messages } = body
  for (;;) {
    const { content, calls } = streams ? await listen(env, body, onText) : await ask(env, body)
    if (calls.length === 0) {
      onMessage({ role: 'assistant', content })
      return { content }
    }
    const answer = { role: 'assistant', content, tool_calls: calls }
    onMessage(answer)
    messages.push(answer)
    const results = await Promise.all(
      calls.map(async (call) => {
        const result = await env.TOOLS.call(call.function.name, JSON.parse(call.function.arguments))
        return { role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) }
      }),
    )
    results.forEach(onMessage)
    messages.push(...results)
  }
}

function post({ MODEL_URL }: Env, { model, messages, tools }: Body, stream: boolean): Promise<Response> {
  return fetch(`${MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, tools, stream }),
  })
}

async function ask(env: Env, body: Body): Promise<Answer> {
  const response = await post(env, body, false)
  const { choices } = await response.json<{ choices: [{ message: { content?: string; tool_calls?: Call[] } }] }>()
  const { content, tool_calls: calls } = choices[0].message
  return { content: content ?? '', calls: calls ?? [] }
}

async function listen(env: Env, body: Body, onText: (text: string) => void): Promise<Answer> {
  const response = await post(env, body, true)
  let content = ''
  const calls: Call[] = []
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of response.body ?? []) {
    rest += decoder.decode(bytes, { stream: true })
    const frames = rest.split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      if (frame === 'data: [DONE]') continue
      const delta: Delta = JSON.parse(frame.slice(6)).choices[0]?.delta ?? {}
      if (delta.content) {
        content += delta.content
        onText(delta.content)
      }
      for (const { index, id, function: part } of delta.tool_calls ?? []) {
        const call = (calls[index] ??= { id: id ?? '', type: 'function', function: { name: '', arguments: '' } })
        call.function.name += part.name ?? ''
        call.function.arguments += part.arguments ?? ''
      }
    }
  }
  return { content, calls }
}

function toChatTool({ name, description, inputSchema }: Omit<Definition, 'inputSchema'> & { inputSchema: object }) {
  return { type: 'function', function: { name, description, parameters: inputSchema } }
}
