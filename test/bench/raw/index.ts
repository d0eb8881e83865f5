import type { ToolService } from '../../../src/contract/tool.ts'

/**
 * The least that a loop of tool calling can be: fetch, JSON, RPC; no checks, no limits, no events. The yardstick, so
 * it is written as one would write it on an afternoon, and streams from the model as the edge does.
 */
interface Env {
  EDGE: Fetcher
  TOOL: ToolService
  MODEL_URL: string
}

interface Call {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
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
    if (url.pathname.startsWith('/edge')) return env.EDGE.fetch(new URL(url.pathname.slice(5), url), request)
    const { messages, model, stream } = await request.json<{ messages: object[]; model: string; stream: boolean }>()
    if (!stream) return Response.json({ content: await loop(env, { messages, model }, () => {}) })
    const encoder = new TextEncoder()
    return new Response(
      new ReadableStream({
        async start(controller) {
          await loop(env, { messages, model }, (content) => {
            const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: null }] }
            controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`))
          })
          controller.close()
        },
      }),
    )
  },
}

async function loop(
  env: Env,
  { messages, model }: { messages: object[]; model: string },
  onText: (text: string) => void,
): Promise<string> {
  const { tools } = await describe(env)
  const hash = tools.find((tool) => tool.name === 'squareRoot')?.hash ?? ''
  for (;;) {
    const { content, calls } = await ask(env, { messages, model }, onText)
    if (calls.length === 0) return content
    messages.push({ role: 'assistant', content, tool_calls: calls })
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
  onText: (text: string) => void,
): Promise<{ content: string; calls: Call[] }> {
  const response = await fetch(`${env.MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, tools: TOOLS, stream: true }),
  })
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
