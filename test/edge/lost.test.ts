import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { readEvents } from './stage.ts'

/** Answers while the object of their conversation is reset, as at a deploy (test/fixtures/lost-edge). */
let model: ModelServer
let harness: TestHarness
let url: URL
let replies: (ModelReply | (() => Promise<ModelReply>))[]

beforeAll(async () => {
  model = await startModelServer(() => {
    const reply = replies.shift() ?? { status: 500, body: 'no more script' }
    return typeof reply === 'function' ? reply() : reply
  })
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'test/fixtures/lost-edge/wrangler.toml',
        vars: { MODEL: 'openai/test', OPENAI_BASE_URL: model.baseUrl },
      },
      { configPath: 'test/fixtures/rogue/wrangler.toml' },
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness?.close()
  await model?.close()
})

const say = (text: string): ModelReply => ({ chunks: chunksOf({ text }) })

function post(path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Resets the object of a conversation. */
async function lose(id: string): Promise<void> {
  expect((await fetch(new URL(`/conversations/${id}/export`, url))).status).toBe(503)
}

const user = { id: 'm', role: 'user', content: 'Count', parts: [{ type: 'text', text: 'Count' }] }
/** What each surface is asked in a conversation. */
const SURFACES: Readonly<Record<string, (id: string) => object>> = {
  '/chat': (id) => ({ id, messages: [user] }),
  '/ag-ui': (threadId) => ({ threadId, runId: 'r', messages: [user] }),
  '/v1/chat/completions': (conversation) => ({ messages: [user], stream: true, edgecall: { conversation } }),
  '/v1/responses': (conversation) => ({ input: 'Count', stream: true, conversation }),
}
/** The text that an event of any of them brings. */
const textOf = ({ delta, choices }: any): string => (choices ? choices[0].delta.content : delta) ?? ''

test.each(Object.entries(SURFACES))('an answer on %s continues when its object is lost', async (path, body) => {
  const id = path.replaceAll('/', '-')
  await post('/conversations', { id })
  // What was shown on `/v1` cannot be taken back there: the new answer goes on only if it begins with it.
  const answer = path.startsWith('/v1') ? 'One two three.' : 'Three four.'
  replies = [{ chunks: [...chunksOf({ text: 'One two ' }).slice(0, 3), new Promise(() => {})] }, say(answer)]
  const response = await post(path, body(id))
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    text += next.value
    if (text.includes('two')) break
  }
  expect(text).toContain('two')
  await lose(id)
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
  const events = await readEvents(new Response(text))
  const shown = events.map(textOf).join('|').replaceAll(/\|+/g, '|')
  expect(shown).toMatch(/^\|?One \|two \|(?:three\.|(?:\n\n)?Three \|four\.)\|?$/)
  expect(JSON.stringify(events)).not.toMatch(/error":[^n]|interrupted/)
  const [run] = (await (await fetch(new URL(`/conversations/${id}/runs`, url))).json()) as object[]
  expect(run).toMatchObject({ id: response.headers.get('x-run-id'), status: 'completed' })
})

test('a non-streamed answer continues when its object is lost', async () => {
  await post('/conversations', { id: 'whole' })
  const question = Promise.withResolvers<void>()
  replies = [
    () => {
      question.resolve()
      return new Promise(() => {})
    },
    say('Done.'),
  ]
  const answer = post('/conversations/whole/runs', { input: 'Hello' })
  await question.promise
  await lose('whole')
  const response = await answer
  expect([response.status, await response.json()]).toMatchObject([200, { status: 'completed', answer: 'Done.' }])
})
