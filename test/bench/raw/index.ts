import { DurableObject } from 'cloudflare:workers'
import type { ToolService } from '../../../src/contract/tool.ts'

/**
 * The least that a loop of tool calling can be: fetch, JSON, RPC; no checks, no limits, no events. The yardstick, so
 * it is written as one would write it on an afternoon, and streams from the model as the edge does.
 */
interface Env {
  EDGE: Fetcher
  SELF: Fetcher
  RAW: DurableObjectNamespace<RawConversation>
  TOOL: ToolService
  MODEL_URL: string
}

interface Call {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** Who listens to a loop. */
interface Ears {
  /** The model has begun to answer. */
  readonly onAnswer?: () => void
  readonly onText?: (text: string) => void
}

interface Delta {
  content?: string
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[]
}

const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'squareRoot',
      description: 'The square root of a number.',
      parameters: { type: 'object', properties: { number: { type: 'number' } }, required: ['number'] },
    },
  },
]

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url)
    // As far away as the edge is.
    if (url.pathname.startsWith('/there')) return env.SELF.fetch(new URL(url.pathname.slice(6), url), request)
    if (url.pathname.startsWith('/edge')) return env.EDGE.fetch(new URL(url.pathname.slice(5), url), request)
    const conversation = request.headers.get('x-conversation-id')
    if (conversation !== null) {
      const { messages, model } = await request.json<{ messages: object[]; model: string }>()
      return Response.json({ content: await env.RAW.getByName(conversation).run(messages, model) })
    }
    const { messages, model, stream } = await request.json<{ messages: object[]; model: string; stream: boolean }>()
    if (!stream) return Response.json({ content: await loop(env, { messages, model }) })
    const encoder = new TextEncoder()
    const begun = Promise.withResolvers<void>()
    const body = new ReadableStream({
      start(controller) {
        const onText = (content: string) => {
          const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: null }] }
          controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`))
        }
        const fail = (error: unknown) => {
          begun.reject(error)
          controller.error(error)
        }
        // Not awaited: nothing is read of a stream before its start is over.
        void loop(env, { messages, model }, { onAnswer: begun.resolve, onText }).then(() => controller.close(), fail)
      },
    })
    // A model that refuses is told by the status.
    await begun.promise
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  },
}

/** The same loop in a Durable Object that writes each message to SQLite, and reads the last ones before a run. */
export class RawConversation extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, json TEXT NOT NULL)')
  }

  async run(messages: object[], model: string): Promise<string> {
    const { sql } = this.ctx.storage
    const rows = sql.exec<{ json: string }>('SELECT json FROM messages ORDER BY id DESC LIMIT 200').toArray().reverse()
    const history: object[] = rows.map((row) => JSON.parse(row.json))
    const write = (message: object) => sql.exec('INSERT INTO messages (json) VALUES (?)', JSON.stringify(message))
    for (const message of messages) {
      write(message)
      history.push(message)
    }
    const content = await loop(this.env, { messages: history, model }, { write })
    write({ role: 'assistant', content })
    return content
  }
}

async function loop(
  env: Env,
  { messages, model }: { messages: object[]; model: string },
  { write = () => {}, ...ears }: Ears & { readonly write?: (message: object) => unknown } = {},
): Promise<string> {
  const { tools } = await describe(env)
  const hash = tools.find((tool) => tool.name === 'squareRoot')?.hash ?? ''
  for (;;) {
    const { content, calls } = await ask(env, { messages, model }, ears)
    if (calls.length === 0) return content
    const asked = { role: 'assistant', content, tool_calls: calls }
    write(asked)
    messages.push(asked)
    const results = await Promise.all(
      calls.map(async (call) => {
        const outcome = await env.TOOL.call({
          name: call.function.name,
          arguments: JSON.parse(call.function.arguments),
          hash,
          context: {
            ...{ runId: 'r', callId: call.id, idempotencyKey: call.id, attempt: 1, deadline: Date.now() + 30_000 },
            ...{ caller: { tenant: 'bench', scopes: [] }, values: {} },
          },
        })
        return { role: 'tool', tool_call_id: call.id, content: JSON.stringify(outcome) }
      }),
    )
    results.forEach(write)
    messages.push(...results)
  }
}

let described: Awaited<ReturnType<ToolService['describe']>> | undefined

async function describe(env: Env) {
  return (described ??= await env.TOOL.describe())
}

async function ask(
  env: Env,
  { messages, model }: { messages: object[]; model: string },
  { onAnswer = () => {}, onText = () => {} }: Ears,
): Promise<{ content: string; calls: Call[] }> {
  const response = await fetch(`${env.MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, tools: TOOLS, stream: true }),
  })
  if (!response.ok) throw new Error(`The model answered ${response.status}`)
  onAnswer()
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
