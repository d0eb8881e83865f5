import { describe, expect, onTestFinished, test, vi } from 'vitest'
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
      const refusal = await send(edge, data)
      expect([refusal.status, await refusal.json()]).toEqual([
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

describe('an image under an https: URL', () => {
  const url = 'https://files.example.com/cat.png'
  const LINKS: Readonly<Record<string, (edge: KeptEdge, url: string) => Promise<Response>>> = {
    '/conversations/{id}/runs': (edge, url) =>
      edge.post('/conversations/c/runs', { input: [{ role: 'user', content: [{ type: 'image', url }] }] }),
    '/v1/chat/completions': (edge, url) =>
      edge.post(
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
        { 'x-conversation-id': 'c' },
      ),
    '/v1/responses': (edge, url) =>
      edge.post('/v1/responses', {
        conversation: 'c',
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }],
      }),
    '/chat': (edge, url) => {
      const file = { type: 'file', mediaType: 'image/png', url }
      return edge.post('/chat', { id: 'c', messages: [{ id: 'm', role: 'user', parts: [file] }] })
    },
    '/ag-ui': (edge, url) => {
      const image = { type: 'image', source: { type: 'url', value: url } }
      return edge.post('/ag-ui', { threadId: 'c', runId: 'r', messages: [{ id: 'm', role: 'user', content: [image] }] })
    },
    '/ag-ui before 1.0': (edge, url) => {
      const image = { type: 'binary', mimeType: 'image/png', url }
      return edge.post('/ag-ui', { threadId: 'c', runId: 'r', messages: [{ id: 'm', role: 'user', content: [image] }] })
    },
  }
  const png = new Uint8Array([137, 80, 78, 71])

  /** An edge before a model with these capabilities, and a web with these pages. */
  async function linkedEdge(
    capabilities: { imageUrls: boolean },
    { hosts = '', pages = {} }: { hosts?: string; pages?: Record<string, () => Response> } = {},
  ): Promise<KeptEdge> {
    vi.stubGlobal('fetch', async (page: string) => pages[page]?.() ?? new Response('', { status: 404 }))
    onTestFinished(() => void vi.unstubAllGlobals())
    const edge = keptEdge({ script: [say('A cat.')], vars: { FILE_HOSTS: hosts }, capabilities })
    await edge.post('/conversations', { id: 'c' })
    return edge
  }
  const contentSent = (edge: KeptEdge) => edge.requests.at(-1)?.messages.at(-1)?.content

  test.each(Object.entries(LINKS))('from %s is passed on to a server that fetches it', async (_path, send) => {
    const edge = await linkedEdge({ imageUrls: true })
    expect((await send(edge, url)).status).toBe(200)
    expect(contentSent(edge)).toMatchObject([{ type: 'image', url }])
  })

  test.each(Object.entries(LINKS))('from %s is fetched by the edge for other servers', async (_path, send) => {
    const pages = {
      [url]: () => new Response(null, { status: 302, headers: { location: 'https://cdn.example.com/1.png' } }),
      'https://cdn.example.com/1.png': () => new Response(png, { headers: { 'content-type': 'image/png' } }),
    }
    const edge = await linkedEdge({ imageUrls: false }, { hosts: 'files.example.com, cdn.example.com', pages })
    expect((await send(edge, url)).status).toBe(200)
    expect(contentSent(edge)).toEqual([{ type: 'image', mediaType: 'image/png', data: 'iVBORw==' }])
  })

  test.each([
    ['no host is allowed', '', url, 'FILE_HOSTS does not allow its host'],
    ['it leads to an address', '*', 'https://127.0.0.1/cat.png', 'FILE_HOSTS does not allow its host'],
    ['it leads to a private name', '*', 'https://files.internal/cat.png', 'FILE_HOSTS does not allow its host'],
    ['it has another port', '*', 'https://files.example.com:8443/cat.png', 'FILE_HOSTS does not allow its host'],
    ['it redirects to an address', '*', 'https://files.example.com/away', 'FILE_HOSTS does not allow its host'],
    ['it is missing', '*', 'https://files.example.com/none', 'its server answered 404'],
    ['it is a page', '*', 'https://files.example.com/page', 'it is "text/html", and not the image'],
    ['it is too large', '*', 'https://files.example.com/large', 'it has more than 1048576 bytes'],
  ])(
    'is refused, and nothing is stored, or named by a text over the APIs of vendors, if %s',
    async (_reason, hosts, link, message) => {
      const typed = (type: string, body: BodyInit = png) => new Response(body, { headers: { 'content-type': type } })
      const pages = {
        [url]: () => typed('image/png'),
        'https://files.example.com/away': () => Response.redirect('https://169.254.169.254/latest', 302),
        'https://files.example.com/page': () => typed('text/html; charset=utf-8'),
        'https://files.example.com/large': () => typed('image/png', new Uint8Array(1024 * 1024 + 1)),
      }
      for (const [path, send] of Object.entries(LINKS)) {
        const edge = await linkedEdge({ imageUrls: false }, { hosts, pages })
        const refusal = await send(edge, link)
        if (path.startsWith('/v1/')) {
          // An application that sends all its history again would be refused for good.
          const text = expect.stringMatching(new RegExp(`^\\[image: ${link}\\]\nNot shown: [^]*${message}`))
          expect([refusal.status, contentSent(edge)]).toEqual([200, [{ type: 'text', text }]])
          continue
        }
        expect(refusal.status).toBe(400)
        const text = await refusal.text()
        expect(text).toContain('file_not_fetched')
        expect(text.replaceAll('\\"', '"')).toContain(message)
        expect(await (await edge.fetch('/conversations/c/runs')).json()).toEqual([])
      }
    },
  )

  test('is fetched beside at most five others, since of more some would wait for a connection while their time runs', async () => {
    const links = Array.from({ length: 20 }, (_, at) => `https://files.example.com/${at}.png`)
    let [active, most] = [0, 0]
    const edge = await linkedEdge({ imageUrls: false }, { hosts: 'files.example.com' })
    vi.stubGlobal('fetch', async () => {
      most = Math.max(most, (active += 1))
      await new Promise((resolve) => setImmediate(resolve))
      active -= 1
      return new Response(png, { headers: { 'content-type': 'image/png' } })
    })
    const send = async (urls: readonly string[]) => {
      const content = urls.map((each) => ({ type: 'image_url', image_url: { url: each } }))
      return edge.post('/v1/chat/completions', { model: 'test/scripted', messages: [{ role: 'user', content }] })
    }
    expect((await send(links)).status).toBe(200)
    expect(most).toBe(6)
    expect(contentSent(edge)).toEqual(links.map(() => ({ type: 'image', mediaType: 'image/png', data: 'iVBORw==' })))
    const second = keptEdge({
      script: [say('A cat.')],
      vars: { FILE_HOSTS: 'files.example.com' },
      capabilities: { imageUrls: false },
    })
    const many = [url, ...links].map((each) => ({ type: 'image_url', image_url: { url: each } }))
    await second.post('/v1/chat/completions', { model: 'test/scripted', messages: [{ role: 'user', content: many }] })
    const old = { type: 'text', text: `[image: ${url}]\nNot shown: only the newest 20 files are fetched` }
    expect(contentSent(second)?.slice(0, 2)).toEqual([old, { type: 'image', mediaType: 'image/png', data: 'iVBORw==' }])
    const input = [{ role: 'user', content: [...links, url].map((each) => ({ type: 'image', url: each })) }]
    const refusal = await edge.post('/conversations/c/runs', { input })
    expect(await refusal.json()).toMatchObject({
      code: 'file_not_fetched',
      detail: 'The request links to 21 files that the edge would have to fetch; the most is 20.',
    })
  })

  test('is refused if all files of the request are too large for a message over RPC', async () => {
    const links = Array.from({ length: 20 }, (_, at) => `https://files.example.com/${at}.png`)
    const large = () => new Response(new Uint8Array(2 * 1024 * 1024), { headers: { 'content-type': 'image/png' } })
    const pages = Object.fromEntries(links.map((each) => [each, large]))
    vi.stubGlobal('fetch', async (page: string) => pages[page]?.())
    onTestFinished(() => void vi.unstubAllGlobals())
    const vars = { FILE_HOSTS: 'files.example.com', MAX_BODY_BYTES: String(8 * 1024 * 1024) }
    const edge = keptEdge({ script: [say('Cats.')], vars, capabilities: { imageUrls: false } })
    await edge.post('/conversations', { id: 'c' })
    const send = async (urls: readonly string[]) =>
      edge.post('/conversations/c/runs', {
        input: [{ role: 'user', content: urls.map((each) => ({ type: 'image', url: each })) }],
      })
    const refusal = await send(links)
    expect(refusal.status).toBe(400)
    expect(await refusal.text()).toContain('all files of the request have more than 21 MiB together')
    expect((await send(links.slice(0, 10))).status).toBe(200)
  })

  test('is refused if its scheme is not https:', async () => {
    for (const send of Object.values(LINKS)) {
      const edge = await linkedEdge({ imageUrls: true })
      expect((await send(edge, 'http://files.example.com/cat.png')).status).toBe(400)
    }
  })
})
