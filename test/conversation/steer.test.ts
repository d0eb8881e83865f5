import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import { ask, requestOf, say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 0 }))
afterEach(() => void vi.useRealTimers())

const input: Message[] = [{ role: 'user', content: 'By the way' }]
const steered = { onBusy: 'steer', request: { input } } as const

/** A conversation whose tool runs until it is let go. */
function busy(): { conversation: TestConversation; start: Promise<void>; go: () => void } {
  const gate = Promise.withResolvers<string>()
  const start = Promise.withResolvers<void>()
  const conversation = new TestConversation(
    ({ messages }) => (messages.length === 1 ? ask(['slow']) : say(`Heard ${messages.length}.`)),
    [
      tool('slow', () => {
        start.resolve()
        return gate.promise
      }),
    ],
  )
  return { conversation, start: start.promise, go: () => gate.resolve('done') }
}

describe('a steering input', () => {
  test('joins the run in progress, and the model sees it in its next step', async () => {
    const { conversation, start, go } = busy()
    await conversation.start(0)
    await start
    const after = conversation.journal(0).at(-1)!.seq
    expect(await conversation.start(1, steered)).toEqual({
      ok: true,
      runId: runId(0),
      status: 'running',
      created: false,
      replayed: false,
      joinedAfter: after,
    })
    go()
    const reply = await conversation.object.record(runId(0), 10_000)
    expect(reply).toMatchObject({ record: { status: 'completed', answer: 'Heard 4.' } })
    expect(conversation.requests.at(-1)!.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
    ])
    expect((await conversation.events(0, after))[0]).toMatchObject({ type: 'input.added', messages: input })
    expect(await conversation.object.runs({ limit: 10 })).toMatchObject({ runs: [{ id: runId(0) }] })
    const page = await conversation.object.messages({ limit: 10 })
    expect(page.ok && page.messages.map(({ message }) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
      'assistant',
    ])
  })

  test('starts a run of its own if none is in progress or that one is being cancelled', async () => {
    const conversation = new TestConversation(() => say('Done.'))
    expect(await conversation.start(0, steered)).toMatchObject({ runId: runId(0), status: 'running' })
    await conversation.object.record(runId(0), 10_000)
    expect(await conversation.start(1, steered)).toMatchObject({ runId: runId(1), status: 'running' })
    await conversation.object.record(runId(1), 10_000)
    expect(types(conversation.journal(1))).not.toContain('input.added')
  })

  test('that could not be stored is not shown to the model and may be sent again', async () => {
    const { conversation, start, go } = busy()
    await conversation.start(0)
    await start
    let writes = 0
    conversation.onTransaction = (moment) => {
      if (moment === 'before' && ++writes === 2) throw new Error('no disk')
    }
    const keyed = { onBusy: 'steer', request: { input, fingerprint: 'f' } } as const
    await expect(conversation.start(1, keyed)).rejects.toThrow('no disk')
    go()
    await settle()
    await conversation.ring()
    expect(await conversation.start(1, keyed)).toMatchObject({ ok: true, runId: runId(0) })
    await conversation.object.record(runId(0), 10_000)
    const items = conversation.requests.at(-1)!.messages.filter(({ role }) => role === 'user')
    expect(items).toHaveLength(2)
    expect(types(conversation.journal(0)).filter((type) => type === 'input.added')).toHaveLength(1)
  })

  test('joins once, however often it is sent with its Idempotency-Key', async () => {
    const { conversation, start, go } = busy()
    await conversation.start(0)
    await start
    const keyed = { onBusy: 'steer', request: { input, fingerprint: 'f' } } as const
    expect(await conversation.start(1, keyed)).toMatchObject({ runId: runId(0), replayed: false })
    expect(await conversation.start(1, keyed)).toMatchObject({ runId: runId(0), replayed: true })
    expect(await conversation.start(1, { onBusy: 'steer', request: { input, fingerprint: 'g' } })).toMatchObject({
      code: 'idempotency_mismatch',
    })
    go()
    await conversation.object.record(runId(0), 10_000)
    expect(types(conversation.journal(0)).filter((type) => type === 'input.added')).toHaveLength(1)
    conversation.live()
    expect(await conversation.start(1, keyed)).toMatchObject({ runId: runId(0), status: 'completed', replayed: true })
  })

  test('joins a run that waits for a person, and is seen after the decision', async () => {
    const conversation = new TestConversation(
      ({ messages }) => (messages.length === 1 ? ask(['pays']) : say(`Heard ${messages.length}.`)),
      [tool('pays', () => 'paid', { approval: 'always' })],
    )
    await conversation.run(0)
    expect(await conversation.start(1, steered)).toMatchObject({ runId: runId(0), status: 'waiting' })
    await conversation.object.answer(runId(0), { [`call_${runId(0).slice(4)}_1_0`]: { decision: 'approve' } })
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { answer: 'Heard 4.' } })
  })

  test('joins a run that is about to start', async () => {
    const conversation = new TestConversation(({ messages }) => say(`Heard ${messages.length}.`))
    const [, second] = await Promise.all([conversation.start(0), conversation.start(1, steered)])
    expect(second).toMatchObject({ runId: runId(0), joinedAfter: 0 })
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { answer: 'Heard 2.' } })
    expect(types(conversation.journal(0)).slice(0, 2)).toEqual(['input.added', 'run.started'])
    const page = await conversation.object.messages({ limit: 10 })
    expect(page.ok && page.messages.map(({ message }) => message.role)).toEqual(['user', 'user', 'assistant'])
  })

  test('stays in the history even if the run that it joined fails first', async () => {
    const fails = Promise.withResolvers<void>()
    const conversation = new TestConversation(async function* () {
      await fails.promise
      yield { type: 'error', error: { code: 'model_unreachable', message: 'Nobody is there.', retryable: false } }
    })
    await conversation.start(0)
    await settle()
    await conversation.start(1, steered)
    fails.resolve()
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { status: 'failed' } })
    conversation.answer = () => say('Done.')
    await conversation.run(2, 'Again, please.')
    const [hello] = requestOf().input
    expect(conversation.requests.at(-1)?.messages).toEqual([
      hello,
      ...input,
      { role: 'user', content: 'Again, please.' },
    ])
  })

  test('is seen even if the object is lost', async () => {
    const { conversation, start } = busy()
    await conversation.start(0)
    await start
    await conversation.start(1, steered)
    vi.setSystemTime(60_000)
    conversation.live()
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { answer: 'Heard 4.' } })
  })
})
