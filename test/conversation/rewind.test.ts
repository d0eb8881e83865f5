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
function withRecovery(there: TestConversation): { remember: () => number } {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-rewind-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const times: number[] = []
  const fileOf = (time: number) => join(folder, `${time}.sqlite`)
  there.recovery = {
    getBookmarkForTime: async (time) => {
      const at = times.findLast((each) => each <= Number(time))
      if (at === undefined) throw new Error('There is no bookmark for this time.')
      return String(at)
    },
    onNextSessionRestoreBookmark: async (bookmark) => {
      there.database = new DatabaseSync(fileOf(Number(bookmark)))
      return 'undo'
    },
  }
  there.live()
  return {
    remember: () => {
      there.database.exec(`VACUUM INTO '${fileOf(Date.now())}'`)
      times.push(Date.now())
      vi.setSystemTime(Date.now() + 60_000)
      return times.at(-1) ?? 0
    },
  }
}

async function texts(there: TestConversation): Promise<unknown[]> {
  const reply = await there.object.messages({ limit: 100 })
  return reply.ok ? reply.messages.map(({ message }) => message.content) : [reply.code]
}

test('a conversation that is taken back is as it was then, and continues from there', async () => {
  const there = new TestConversation(() => say('Yes.'))
  const { remember } = withRecovery(there)
  await there.run(1, 'One')
  const at = remember()
  await there.run(2, 'Two')
  expect(await there.object.backup({ do: 'rewind', at: at + 1 })).toEqual({ ok: true })
  expect(there.aborts).toEqual([])
  await vi.advanceTimersByTimeAsync(200)
  expect(there.aborts).toEqual(['The conversation is taken back to an earlier time.'])
  there.live()
  expect(await texts(there)).toEqual(['One', 'Yes.'])
  expect(await there.object.record(runId(2), 0)).toMatchObject({ code: 'unknown_run' })
  await there.run(3, 'Three')
  expect(await texts(there)).toEqual(['One', 'Yes.', 'Three', 'Yes.'])
})

test('a conversation that was deleted can be taken back to before', async () => {
  const there = new TestConversation(() => say('Yes.'))
  const { remember } = withRecovery(there)
  await there.run(1, 'One')
  const at = remember()
  await there.object.remove()
  expect(await texts(there)).toEqual(['conversation_deleted'])
  await there.object.backup({ do: 'rewind', at })
  there.live()
  expect(await texts(there)).toEqual(['One', 'Yes.'])
})

test('a run that waits is cancelled before its conversation is taken back', async () => {
  const there = new TestConversation(() => ask(['buy']), [tool('buy', () => 'bought', { approval: 'always' })])
  const { remember } = withRecovery(there)
  const at = remember()
  await there.start(1)
  await there.object.record(runId(1), 10_000)
  const before = there.database
  await there.object.backup({ do: 'rewind', at })
  const [row] = before.prepare('SELECT status FROM runs').all()
  expect(row).toEqual({ status: 'cancelled' })
})

test('a conversation is left as it is where nothing is remembered of that time, or of any', async () => {
  const there = new TestConversation(() => say('Yes.'))
  await there.run(1, 'One')
  expect(await there.object.backup({ do: 'rewind', at: 5 })).toMatchObject({ code: 'no_recovery' })
  withRecovery(there)
  expect(await there.object.backup({ do: 'rewind', at: 5 })).toMatchObject({
    code: 'no_recovery',
    message: 'This conversation cannot be taken back: There is no bookmark for this time.',
  })
  await vi.advanceTimersByTimeAsync(200)
  expect([there.aborts, await texts(there)]).toEqual([[], ['One', 'Yes.']])
})
