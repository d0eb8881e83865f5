// JavaScript, because `npm test` checks types without the packages of the bench.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { manyTools } from '../many-tools.ts'
import { FEW } from './definitions.ts'
import { zodOf } from './zod.js'

/** The AI SDK as its documents show it. The tools are made once in an isolate. */
let few
let many

export default {
  async fetch(request, env) {
    if (request.method === 'GET') return new Response('')
    const { model, messages, stream, tools } = await request.json()
    const options = {
      model: createOpenAICompatible({ name: 'model', baseURL: env.MODEL_URL })(model),
      tools: tools ? toolsSent(tools) : toolsOf(env, new URL(request.url).searchParams.get('tools')),
      stopWhen: isStepCount(20),
      messages,
    }
    if (!stream) return Response.json({ content: (await generateText(options)).text })
    const encoder = new TextEncoder()
    const { textStream } = streamText(options)
    return new Response(
      new ReadableStream({
        async start(controller) {
          for await (const content of textStream) {
            controller.enqueue(encoder.encode(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`))
          }
          controller.close()
        },
      }),
    )
  },
}

function toolsOf(env, which) {
  if (which !== 'many') return (few ??= made(env, FEW))
  return (many ??= made(env, [...FEW, ...manyTools(500)]))
}

function made(env, definitions) {
  const entries = definitions.map(({ name, description, inputSchema }) => [
    name,
    tool({ description, inputSchema: zodOf(inputSchema), execute: (args) => env.TOOLS.call(name, args) }),
  ])
  return Object.fromEntries(entries)
}

/** Tools that the caller sends are run by the caller. */
function toolsSent(tools) {
  const entries = tools.map(({ function: { name, description, parameters } }) => [
    name,
    tool({ description, inputSchema: jsonSchema(parameters) }),
  ])
  return Object.fromEntries(entries)
}
