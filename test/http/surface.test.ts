import { expect, test } from 'vitest'
import { fullSurfaces } from '../fixtures/everything.ts'
import { type SurfaceOfSuite, surfaceSuite } from '../suites/surface.ts'
import { dataOf } from './kept-edge.ts'

const problem = (error: Record<string, any>): unknown => error['code']
const openAi = (error: Record<string, any>): unknown => error['error']?.code ?? error['error']?.type

/** Returns the texts of the parts of a stream that are of one type. */
function textsOf(answer: string, type: string): string {
  const chunks = dataOf(answer) as Record<string, any>[]
  return chunks.map((chunk) => (chunk['type'] === type ? String(chunk['delta']) : '')).join('')
}

const paths: string[] = []

function join(name: string, surface: SurfaceOfSuite): void {
  paths.push(surface.path)
  surfaceSuite(name, surface)
}

join('native runs', {
  path: '/runs',
  body: (text) => ({ input: text }),
  textOf: (answer) => JSON.parse(answer).answer,
  codeOf: problem,
  invalid: { input: 5 },
})

join('Chat Completions', {
  path: '/v1/chat/completions',
  body: (text) => ({ messages: [{ role: 'user', content: text }] }),
  textOf: (answer) => JSON.parse(answer).choices[0].message.content,
  codeOf: openAi,
  invalid: { messages: 5 },
})

join('Responses', {
  path: '/v1/responses',
  body: (text) => ({ input: text }),
  textOf: (answer) =>
    JSON.parse(answer).output.findLast((item: Record<string, any>) => item['type'] === 'message').content[0].text,
  codeOf: openAi,
  invalid: { input: 5 },
})

join('Messages', {
  path: '/v1/messages',
  body: (text) => ({ max_tokens: 100, messages: [{ role: 'user', content: text }] }),
  textOf: (answer) => JSON.parse(answer).content.at(-1).text,
  codeOf: (error) => error['error']?.details?.error_code,
  invalid: { max_tokens: 100, messages: 5 },
})

join('embeddings', {
  path: '/v1/embeddings',
  body: (input) => ({ model: 'test/scripted', input }),
  codeOf: openAi,
  invalid: { model: 'test/scripted', input: 5 },
})

join('useChat', {
  path: '/chat',
  body: (text) => ({
    id: 'chat-1',
    trigger: 'submit-message',
    messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }],
  }),
  textOf: (answer) => textsOf(answer, 'text-delta'),
  codeOf: problem,
  invalid: { id: 'chat-1', messages: 5 },
})

join('AG-UI', {
  path: '/ag-ui',
  body: (text) => ({ threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: text }] }),
  textOf: (answer) => textsOf(answer, 'TEXT_MESSAGE_CONTENT'),
  codeOf: problem,
  invalid: { threadId: 't', runId: 'r', messages: 5 },
})

join('MCP', {
  path: '/mcp',
  body: () => ({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  invalid: { jsonrpc: '2.0', id: 1, method: 5 },
})

/** The paths of surfaces that start no runs, or belong to the native API. */
const NATIVE_FORMAT = [
  '/caller',
  '/schedules',
  '/v1/models',
  '/v1/conversations',
  '/metrics',
  '/approvals',
  '/tools',
  '/keys',
  '/connections',
  '/backups',
  '/usage',
]

test('every surface of the edge that needs a key joins the suite of surfaces', () => {
  const roots = fullSurfaces.flatMap((surface) => (surface.isPublic ? [] : Object.keys(surface.routes)))
  const withBody = roots.filter((root) => !NATIVE_FORMAT.includes(root))
  expect(withBody.filter((root) => !paths.some((path) => path.startsWith(root)))).toEqual([])
  expect(withBody).not.toEqual([])
})
