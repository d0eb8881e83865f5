// JavaScript, because `npm test` checks types without the packages of the bench.
import { chat, EventType, maxIterations, toolDefinition } from '@tanstack/ai'
import { createOpenaiChatCompletions } from '@tanstack/ai-openai'
import { manyTools } from '../many-tools.ts'
import { FEW } from './definitions.ts'
import { zodOf } from './zod.js'

/** TanStack AI as its documents show it. The tools are made once in an isolate. It always streams from the model. */
let few
let many

export default {
  async fetch(request, env) {
    if (request.method === 'GET') return new Response('')
    const { model, messages, stream, tools } = await request.json()
    const events = chat({
      adapter: createOpenaiChatCompletions(model, 'none', { baseURL: env.MODEL_URL }),
      tools: tools ? tools.map(toolSent) : toolsOf(env, new URL(request.url).searchParams.get('tools')),
      agentLoopStrategy: maxIterations(20),
      messages,
    })
    if (!stream) return Response.json({ content: await textOf(events) })
    const encoder = new TextEncoder()
    return new Response(
      new ReadableStream({
        async start(controller) {
          for await (const { type, delta: content } of events) {
            if (type !== EventType.TEXT_MESSAGE_CONTENT) continue
            controller.enqueue(encoder.encode(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`))
          }
          controller.close()
        },
      }),
    )
  },
}

async function textOf(events) {
  let text = ''
  for await (const { type, delta } of events) if (type === EventType.TEXT_MESSAGE_CONTENT) text += delta
  return text
}

function toolsOf(env, which) {
  if (which !== 'many') return (few ??= made(env, FEW))
  return (many ??= made(env, [...FEW, ...manyTools(500)]))
}

function made(env, definitions) {
  return definitions.map(({ name, description, inputSchema }) =>
    toolDefinition({ name, description, inputSchema: zodOf(inputSchema) }).server((args) => env.TOOLS.call(name, args)),
  )
}

/** Tools that the caller sends are run by the caller. */
function toolSent({ function: { name, description, parameters } }) {
  return toolDefinition({ name, description, inputSchema: parameters }).client()
}
