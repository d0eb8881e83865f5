import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { UserContent } from '../../src/contract/message.ts'
import { anthropic, type ChatModel, openai } from 'edgecall'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { runId, TestConversation } from './object.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const BAD = 'BADBADBADBADBADB'
const picture = (data: string): UserContent => ({ type: 'image', mediaType: 'image/png', data })

/** A conversation whose model is behind a server that refuses the bad picture in the words of its provider. */
async function talkTo(kind: 'anthropic' | 'openai') {
  const server: ModelServer = await startModelServer(({ body }) => {
    const message = body.messages.findIndex((each) => JSON.stringify(each).includes(BAD))
    const content = body.messages[message]?.content
    const part = Array.isArray(content) ? content.findIndex((each) => JSON.stringify(each).includes(BAD)) : -1
    if (message < 0) {
      return kind === 'anthropic'
        ? { body: { type: 'message', content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn' } }
        : { chunks: chunksOf({ text: 'ok' }) }
    }
    if (kind === 'openai')
      return { status: 400, body: { error: { message: 'You uploaded an unsupported image.', code: 'invalid_image' } } }
    const text = `messages.${message}.content.${part}.image.source.base64: image exceeds 5 MB maximum`
    return { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: text } } }
  })
  onTestFinished(() => server.close())
  const { baseUrl } = server
  const model: ChatModel = kind === 'anthropic' ? anthropic({ baseUrl })('probe') : openai({ baseUrl })('probe')
  const talk = new TestConversation((request, signal) => model.stream(request, signal))
  const say = async (turn: number, content: string | readonly UserContent[]) => {
    const before = server.calls.length
    await talk.start(turn, { request: { input: [{ role: 'user', content }] } })
    const reply = await talk.object.record(runId(turn), 10_000)
    return { status: reply.ok && reply.record.status, requests: server.calls.length - before }
  }
  const last = () => JSON.stringify(server.calls.at(-1)?.body.messages)
  return { talk, say, last }
}

test('a picture that a server has named is not sent with later turns, also not by another life of the object', async () => {
  const { talk, say, last } = await talkTo('anthropic')
  expect(await say(1, [{ type: 'text', text: 'First' }, picture('GOODGOODGOODGOOD')])).toEqual({
    status: 'completed',
    requests: 1,
  })
  expect(await say(2, [{ type: 'text', text: 'Second' }, picture(BAD)])).toEqual({ status: 'completed', requests: 2 })
  expect(last()).toContain('left out, since the server of the model refused it: messages.2.content.1')
  const events = await talk.events(2)
  expect(events.flatMap((event) => (event.type === 'step.restarted' ? [event.because, event.refusals] : []))).toEqual([
    'item_refused',
    [expect.objectContaining({ part: 1, size: BAD.length, reason: expect.stringContaining('exceeds 5 MB') })],
  ])
  expect(talk.reports).toContainEqual(
    expect.objectContaining({ event: 'model.retried', code: 'model_refused_request', status: 400 }),
  )
  expect(await say(3, 'Third')).toEqual({ status: 'completed', requests: 1 })
  talk.live()
  expect(await say(4, 'Fourth')).toEqual({ status: 'completed', requests: 1 })
  for (const text of ['First', 'GOODGOODGOODGOOD', 'Second', 'Third', 'Fourth']) expect(last()).toContain(text)
  expect(last()).not.toContain(BAD)
})

test('a picture that no refusal names is looked for once', async () => {
  const { say, last } = await talkTo('openai')
  const pictures = ['P1P1P1P1P1P1P1P1', BAD, 'P3P3P3P3P3P3P3P3', 'P4P4P4P4P4P4P4P4'].map(picture)
  const first = await say(1, [{ type: 'text', text: 'Compare' }, ...pictures])
  // The request, two questions, and the request again.
  expect(first).toEqual({ status: 'completed', requests: 4 })
  expect(await say(2, 'And now?')).toEqual({ status: 'completed', requests: 1 })
  for (const text of ['Compare', 'P1P1', 'P3P3', 'P4P4', 'And now?']) expect(last()).toContain(text)
  expect(last()).not.toContain(BAD)
})

test('a record that is damaged leaves nothing out', async () => {
  const { talk, say, last } = await talkTo('anthropic')
  await say(1, [{ type: 'text', text: 'First' }, picture('GOODGOODGOODGOOD')])
  const position = talk.store.messages.all()[Symbol.iterator]().next().value?.position ?? -1
  const own = { position, part: 1, model: 'test/scripted', reason: 'No.' }
  talk.store.setMeta('refusals', [null, { position }, { ...own, size: 5 }, { ...own, part: 0, size: 5 }])
  talk.live()
  await say(2, 'Second')
  for (const text of ['First', 'GOODGOODGOODGOOD', 'Second']) expect(last()).toContain(text)
})
