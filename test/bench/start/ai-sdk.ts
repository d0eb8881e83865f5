import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, jsonSchema, tool } from 'ai'

/** The AI SDK as its documents show it: one provider, one tool in the same Worker, nothing kept. */
const number = jsonSchema<{ number: number }>({ type: 'object', properties: { number: { type: 'number' } } })
const tools = {
  squareRoot: tool({
    description: 'The square root of a number.',
    inputSchema: number,
    execute: ({ number }) => Math.sqrt(number),
  }),
}

export default {
  async fetch(request: Request, { MODEL_URL = 'http://127.0.0.1' }: { MODEL_URL?: string }): Promise<Response> {
    if (request.method === 'GET') return new Response('')
    const model = createOpenAICompatible({ name: 'model', baseURL: MODEL_URL })('steps-10')
    const { text } = await generateText({ model, tools, stopWhen: isStepCount(20), prompt: await request.text() })
    return Response.json({ text })
  },
}
