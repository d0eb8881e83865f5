import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout'], now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())

/** Gives a conversation a platform that remembers the states at which `remember` was called. */
function withRecovery(conversation: TestConversation): { remember: () => number } {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-rewind-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const times: number[] = []
  const fileOf = (time: number) => join(folder, `${time}.sqlite`)
  conversation.recovery = {
    getBookmarkForTime: async (time) => {
      const at = times.findLast((each) => each <= Number(time))
      if (at === undefined) throw new Error('There is no bookmark for this time.')
      return String(at)
    },
    onNextSessionRestoreBookmark: async (bookmark) => {
      conversation.database = new DatabaseSync(fileOf(Number(bookmark)))
      return 'undo'
    },
  }
  conversation.live()
  return {
    remember: () => {
      conversation.database.exec(`VACUUM INTO '${fileOf(Date.now())}'`)
      times.push(Date.now())
      vi.setSystemTime(Date.now() + 60_000)
      return times.at(-1) ?? 0
    },
  }
}

async function texts(conversation: TestConversation): Promise<unknown[]> {
  const reply = await conversation.object.messages({ limit: 100 })
  return reply.ok ? reply.messages.map(({ message }) => message.content) : [reply.code]
}

test('a conversation that is taken back is as it was then, and continues from there', async () => {
  const conversation = new TestConversation(() => say('Yes.'))
  const { remember } = withRecovery(conversation)
  await conversation.run(1, 'One')
  const at = remember()
  await conversation.run(2, 'Two')
  expect(await conversation.object.backup({ do: 'rewind', at: at + 1 })).toEqual({ ok: true })
  expect(conversation.aborts).toEqual([])
  await vi.advanceTimersByTimeAsync(200)
  expect(conversation.aborts).toEqual(['The conversation is taken back to an earlier time.'])
  conversation.live()
  expect(await texts(conversation)).toEqual(['One', 'Yes.'])
  expect(await conversation.object.record(runId(2), 0)).toMatchObject({ code: 'unknown_run' })
  await conversation.run(3, 'Three')
  expect(await texts(conversation)).toEqual(['One', 'Yes.', 'Three', 'Yes.'])
})

test('a conversation that was deleted can be taken back to before', async () => {
  const conversation = new TestConversation(() => say('Yes.'))
  const { remember } = withRecovery(conversation)
  await conversation.run(1, 'One')
  const at = remember()
  await conversation.object.remove()
  expect(await texts(conversation)).toEqual(['conversation_deleted'])
  await conversation.object.backup({ do: 'rewind', at })
  conversation.live()
  expect(await texts(conversation)).toEqual(['One', 'Yes.'])
})

test('a run that waits is cancelled before its conversation is taken back', async () => {
  const conversation = new TestConversation(() => ask(['buy']), [tool('buy', () => 'bought', { approval: 'always' })])
  const { remember } = withRecovery(conversation)
  const at = remember()
  await conversation.start(1)
  await conversation.object.record(runId(1), 10_000)
  const before = conversation.database
  await conversation.object.backup({ do: 'rewind', at })
  const [row] = before.prepare('SELECT status FROM runs').all()
  expect(row).toEqual({ status: 'cancelled' })
})

test('a conversation is left as it is where nothing is remembered of that time, or of any', async () => {
  const conversation = new TestConversation(() => say('Yes.'))
  await conversation.run(1, 'One')
  expect(await conversation.object.backup({ do: 'rewind', at: 5 })).toMatchObject({ code: 'no_recovery' })
  withRecovery(conversation)
  expect(await conversation.object.backup({ do: 'rewind', at: 5 })).toMatchObject({
    code: 'no_recovery',
    message: 'This conversation cannot be taken back: There is no bookmark for this time.',
  })
  await vi.advanceTimersByTimeAsync(200)
  expect([conversation.aborts, await texts(conversation)]).toEqual([[], ['One', 'Yes.']])
})
