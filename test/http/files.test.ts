import { expect, test } from 'vitest'
import { say } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

/** How each surface sends an image to the conversation "c". */
const SURFACES: Readonly<Record<string, (edge: KeptEdge, data: string) => Promise<Response>>> = {
  '/conversations/{id}/runs': (edge, data) =>
    edge.post('/conversations/c/runs', {
      input: [{ role: 'user', content: [{ type: 'image', mediaType: 'image/png', data }] }],
    }),
  '/v1/chat/completions': (edge, data) =>
    edge.post(
      '/v1/chat/completions',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }] },
        ],
      },
      { 'x-conversation-id': 'c' },
    ),
  '/v1/responses': (edge, data) =>
    edge.post('/v1/responses', {
      conversation: 'c',
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: `data:image/png;base64,${data}` }] }],
    }),
  '/chat': (edge, data) => {
    const file = { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${data}` }
    return edge.post('/chat', { id: 'c', messages: [{ id: 'm', role: 'user', parts: [file] }] })
  },
  '/ag-ui': (edge, data) => {
    const image = { type: 'image', source: { type: 'data', value: data, mimeType: 'image/png' } }
    return edge.post('/ag-ui', { threadId: 'c', runId: 'r', messages: [{ id: 'm', role: 'user', content: [image] }] })
  },
}

test.each(Object.entries(SURFACES))(
  'an image that is not base64 is refused by %s and not stored',
  async (path, send) => {
    const edge = keptEdge({ script: [say('A cat.')] })
    await edge.post('/conversations', { id: 'c' })
    const message = 'The data of each image must be base64 (RFC 4648, section 4).'
    for (const data of ['no base64!', 'a-b_', 'AA==AA']) {
      const refused = await send(edge, data)
      expect([refused.status, await refused.json()]).toEqual([
        400,
        path.startsWith('/v1/')
          ? { error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request' } }
          : { status: 400, code: 'invalid_request', detail: message },
      ])
    }
    expect((await send(edge, 'iVBORw0KGgo=')).status).toBe(200)
    const runs = await (await edge.fetch('/conversations/c/runs')).json<object[]>()
    expect([runs.length, edge.requests.length]).toEqual([1, 1])
  },
)
