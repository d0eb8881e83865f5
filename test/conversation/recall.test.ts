import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { ask, requestOf, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const isForNotes = ({ messages }: ModelRequest) =>
  contentText(messages[0]?.content ?? '').startsWith('You keep the memory')

/** A conversation of so many short turns, whose model sees the last two. */
async function talk(turns: number, notes: (request: ModelRequest) => readonly ModelEvent[] = () => say('Likes tea.')) {
  const talked = new TestConversation((request) => (isForNotes(request) ? notes(request) : say('ok')), [], {
    MEMORY_SUMMARY: 'on',
    MEMORY_MESSAGES: '4',
  })
  for (let turn = 1; turn <= turns; turn++) {
    await talked.run(turn, `turn ${turn}`)
  }
  return talked
}

/** What the model was told in its last request, in few words. */
function messagesOf(talked: TestConversation): string[] {
  return (talked.requests.at(-1)?.messages ?? []).map(({ content }) => contentText(content))
}

test('messages outside the window are shown until there are enough for a summary', async () => {
  const talked = await talk(13)
  expect(talked.requests.filter(isForNotes)).toEqual([])
  expect(messagesOf(talked)[0]).toBe('turn 1')
})

test('a system message is shown once, by the window', async () => {
  const talked = await talk(0)
  const input = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'turn 1' },
  ] as const
  await talked.start(1, { request: { input } })
  await talked.object.record(runId(1), 10_000)
  for (const turn of [2, 3, 4, 5]) await talked.run(turn, `turn ${turn}`)
  expect(messagesOf(talked)).toEqual([
    ...['turn 1', 'ok', 'turn 2', 'ok'],
    'Be kind.',
    ...['turn 3', 'ok', 'turn 4', 'ok', 'turn 5'],
  ])
})

test('a summary of the messages that it does not cover yet is made once and shown instead', async () => {
  const talked = await talk(15)
  const [request, ...others] = talked.requests.filter(isForNotes)
  expect(others).toEqual([])
  expect(contentText(request?.messages[1]?.content ?? '')).toMatch(
    /^The conversation continued:\nuser: turn 1\nassistant: ok\n/,
  )
  expect(messagesOf(talked)).toEqual([
    'What was said before, in notes:\nLikes tea.',
    ...['turn 12', 'ok'],
    ...['turn 13', 'ok', 'turn 14', 'ok'],
    'turn 15',
  ])
})

test('a later summary is made from the earlier one and newer messages, and its usage counts for the run', async () => {
  const talked = await talk(26, () => [
    { type: 'text', text: 'Likes tea.' },
    { type: 'finish', finish: 'stop', usage: { inputTokens: 1000, outputTokens: 50 } },
  ])
  const noteRequests = talked.requests.filter(isForNotes)
  expect(noteRequests).toHaveLength(2)
  const [, request] = noteRequests[1]?.messages ?? []
  expect(contentText(request?.content ?? '')).toMatch(
    /^Earlier notes:\nLikes tea\.\n\nThe conversation continued:\nuser: turn 12\n/,
  )
  const usage = await talked.object.usage()
  expect(usage).toMatchObject({ ok: true, usage: { inputTokens: 26 * 10 + 2 * 1000 } })
})

test('a run continues without a summary that cannot be made, and the next run tries again', async () => {
  let fails = true
  const failure = { type: 'error', error: { code: 'model_unavailable', message: 'down', retryable: true } } as const
  const talked = await talk(14, () => (fails ? [failure] : say('Likes tea.')))
  expect(messagesOf(talked)[0]).toBe('turn 12')
  fails = false
  await talked.run(15, 'turn 15')
  expect(messagesOf(talked)[0]).toBe('What was said before, in notes:\nLikes tea.')
})

test('messages shown without a summary are repaired so that a model accepts them', async () => {
  const talked = new TestConversation(
    ({ messages }) => (contentText(messages.at(-1)?.content ?? '') === 'look' ? ask(['look']) : say('ok')),
    [tool('look')],
    { MEMORY_SUMMARY: 'on', MEMORY_MESSAGES: '4' },
  )
  for (const [turn, text] of ['look', 'a', 'b', 'c'].entries()) await talked.run(turn, text)
  talked.database.exec(`UPDATE messages SET message = '{"role":' WHERE message LIKE '{"role":"tool"%'`)
  await talked.run(4, 'd')
  const roles = (talked.requests.at(-1)?.messages ?? []).map(({ role }) => role)
  expect(roles.slice(0, 4)).toEqual(['user', 'assistant', 'tool', 'assistant'])
})

test('a summary of replaced turns is discarded', async () => {
  const talked = await talk(15)
  const repeat = { runId: runId('again'), caller: requestOf({}).caller }
  expect(await talked.object.regenerate(runId(3), repeat, { onward: true })).toMatchObject({ ok: true })
  await talked.object.record(runId('again'), 10_000)
  expect(messagesOf(talked)).toEqual(['turn 1', 'ok', 'turn 2', 'ok', 'turn 3'])
})
