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
        : { chunks: chunksOf({ text: 'ok', usage: { inputTokens: 7, outputTokens: 2 } }) }
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

const REFUSAL = { part: 1, size: BAD.length, model: 'test/scripted', reason: expect.stringContaining('exceeds 5 MB') }

test('the record of the run tells what was left out, and that of a later run nothing', async () => {
  const { talk, say } = await talkTo('anthropic')
  await say(1, [{ type: 'text', text: 'First' }, picture(BAD)])
  await say(2, 'Second')
  const records = [await talk.object.record(runId(1), 0), await talk.object.record(runId(2), 0)]
  expect(records.map((reply) => reply.ok && reply.record.refusals)).toEqual([
    [{ ...REFUSAL, position: expect.any(Number) }],
    undefined,
  ])
})

test('a fork and a copy send it no more', async () => {
  const { talk, say } = await talkTo('anthropic')
  await say(1, [{ type: 'text', text: 'First' }, picture(BAD)])
  const page = await talk.object.messages({ limit: 10, fullResults: true })
  if (!page.ok) throw new Error(page.message)
  const fork = await talkTo('anthropic')
  await fork.talk.object.create({ tenant: 'acme', id: 'conv_2', settings: {} })
  for (let times = 0; times < 2; times += 1) await fork.talk.object.adopt(page.messages)
  expect(await fork.say(2, 'Second')).toEqual({ status: 'completed', requests: 1 })
  expect(fork.last()).toContain('left out, since the server of the model refused it')
  expect(fork.talk.store.refusals()).toHaveLength(1)
  const copy = await talk.object.backup({ do: 'copy' })
  if (!copy.ok || !copy.copy) throw new Error('There is no copy')
  const other = await talkTo('anthropic')
  const caller = { tenant: 'acme', scopes: ['chat'] }
  const request = { do: 'restore', id: 'conv_1', caller, copy: copy.copy, isSigned: true } as const
  expect(await other.talk.object.backup(request)).toEqual({ ok: true })
  expect(await other.say(2, 'Second')).toEqual({ status: 'completed', requests: 1 })
  expect(other.talk.store.refusals()).toEqual(talk.store.refusals())
})

test('what the questions about halves have used counts', async () => {
  const { talk, say } = await talkTo('openai')
  await say(1, [{ type: 'text', text: 'Compare' }, ...['P1P1P1P1P1P1P1P1', BAD, 'P3P3P3P3P3P3P3P3'].map(picture)])
  const reply = await talk.object.record(runId(1), 0)
  // One question was accepted, one was refused, and the answer.
  expect(reply.ok && reply.record.usage).toEqual({ inputTokens: 14, outputTokens: 4 })
  expect(talk.journal(1).flatMap((event) => (event.type === 'step.restarted' ? [event.usage] : []))).toEqual([
    { inputTokens: 7, outputTokens: 2 },
  ])
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
