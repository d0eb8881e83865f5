import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { UPSTREAMS, upstreamEdge } from './upstream-edge.ts'

const model = 'test/scripted'
const image = 'https://files.example.com/cat.png'
const pdf = 'https://files.example.com/a.pdf'
const question = { role: 'user', content: 'Look.' }

const bodies = {
  '/v1/messages': {
    model,
    max_tokens: 100,
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    messages: [
      question,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'u', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'u',
            content: [
              { type: 'text', text: 'Here.' },
              { type: 'image', source: { type: 'url', url: image } },
              { type: 'document', title: 'A', source: { type: 'url', url: pdf } },
            ],
          },
        ],
      },
    ],
  },
  '/v1/responses': {
    model,
    store: false,
    tools: [{ type: 'function', name: 'look', parameters: {} }],
    input: [
      question,
      { type: 'function_call', call_id: 'u', name: 'look', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'u',
        output: [
          { type: 'input_text', text: 'Here.' },
          { type: 'input_image', image_url: image },
          { type: 'input_text', text: 'A' },
          { type: 'input_file', file_url: pdf },
        ],
      },
    ],
  },
} as const
const paths = ['/v1/messages', '/v1/responses'] as const
const resultText = `Here.\n[image: ${image}]\nA\n[file: ${pdf}]`
const heading = 'The files in the result of the call u:'

describe('images and documents of results that are under a URL', () => {
  test.each(paths)('follow the result, for Anthropic: %s', async (path) => {
    const edge = await upstreamEdge(() => UPSTREAMS.anthropic.done)
    expect((await edge.post(path, bodies[path])).status).toBe(200)
    const [result, ...others]: any = edge.calls[0]?.body.messages.at(-1)?.['content'] ?? []
    expect(result.content.map(({ text }: { text: string }) => text).join('\n')).toBe(resultText)
    expect(others).toEqual([
      { type: 'text', text: heading },
      { type: 'image', source: { type: 'url', url: image } },
      { type: 'document', source: { type: 'url', url: pdf } },
    ])
  })

  test.each(paths)('follow the result, for OpenAI: %s', async (path) => {
    const { done, provider } = UPSTREAMS.responses
    const edge = await upstreamEdge(() => done, provider)
    expect((await edge.post(path, bodies[path])).status).toBe(200)
    const input = edge.calls[0]?.body['input'] as object[]
    expect(input.slice(-2)).toEqual([
      { type: 'function_call_output', call_id: 'u', output: resultText },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: heading },
          { type: 'input_image', detail: 'auto', image_url: image },
          { type: 'input_file', file_url: pdf },
        ],
      },
    ])
  })

  test.each(paths)('are fetched for a server that fetches none, and named if that is not allowed: %s', async (path) => {
    const { done, provider } = UPSTREAMS.chat
    const send = fetch
    const pages = new Map([[image, new Uint8Array([137, 80])]])
    vi.stubGlobal('fetch', async (input: string, init?: RequestInit) => {
      const page = pages.get(input)
      return page ? new Response(page, { headers: { 'content-type': 'image/png' } }) : send(input, init)
    })
    onTestFinished(() => void vi.unstubAllGlobals())
    const bodyFor = async (FILE_HOSTS: string) => {
      const edge = await upstreamEdge(
        () => done,
        (baseUrl) => capped(provider(baseUrl)),
        { vars: { FILE_HOSTS } },
      )
      expect((await edge.post(path, bodies[path])).status).toBe(200)
      return JSON.stringify(edge.calls[0]?.body.messages.at(-1))
    }
    expect(await bodyFor('files.example.com')).toContain('data:image/png;base64,iVA=')
    expect(await bodyFor('')).toContain(`[image: ${image}]\\nNot shown: `)
  })
})

/** A provider whose server follows no links. */
function capped(models: ReturnType<typeof UPSTREAMS.chat.provider>): typeof models {
  return (name) => {
    const model = models(name)
    const { capabilities } = model
    return { ...model, ...(capabilities && { capabilities: { ...capabilities, imageUrls: false, fileUrls: false } }) }
  }
}
