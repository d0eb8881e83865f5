import { expect, test, vi } from 'vitest'
import { isDamage } from '../../src/contract/thrown.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

/** A conversation with a run that has ended and one that waits for an approval. */
async function usedConversation(): Promise<TestConversation> {
  const answers = [say('One.'), ask(['pay'])]
  const conversation = new TestConversation(
    () => answers.shift() ?? say('Done.'),
    [tool('pay', () => 'paid', { approval: 'always' })],
  )
  await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings: {} })
  await conversation.run('a')
  await conversation.run('b')
  return conversation
}

/** Makes each request once, and returns what was thrown. */
async function thrownBy(conversation: TestConversation): Promise<unknown[]> {
  const thrown: unknown[] = []
  const attempt = async (request: () => unknown) => {
    try {
      await request()
    } catch (error) {
      thrown.push(error)
    }
  }
  await attempt(() => conversation.live())
  const { object } = conversation
  await attempt(() => object.alarm())
  for (const id of [runId('a'), runId('b')]) {
    await attempt(() => object.record(id, 0))
    await attempt(() => object.events(id, 0))
  }
  await attempt(() => object.settings())
  await attempt(() => object.usage())
  await attempt(() => object.answer(runId('b'), {}))
  await attempt(() => conversation.start('c'))
  await attempt(() => object.cancel(runId('b')))
  return thrown
}

async function exportOf({ object }: TestConversation): Promise<any[]> {
  const reply = await object.export()
  if (!reply.ok) throw new Error(reply.code)
  return (await new Response(reply.stream).text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const tables = (conversation: TestConversation) =>
  conversation
    .rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .map(({ name }) => String(name))

test('a table that is missing is told as damage, and what is left can be exported', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const names = tables(await usedConversation())
  expect(names.length).toBeGreaterThan(8)
  for (const name of names.filter((each) => each !== 'meta')) {
    const conversation = await usedConversation()
    conversation.database.exec(`PRAGMA foreign_keys = OFF; DROP TABLE ${name}`)
    expect(
      (await thrownBy(conversation)).filter((error) => !isDamage(error)),
      name,
    ).toEqual([])
    const lines = await exportOf(conversation)
    expect(lines[0], name).toMatchObject({ type: 'conversation' })
    if (name === 'events') expect(lines.filter(({ type }) => type === 'message').length).toBeGreaterThan(1)
    if (name === 'messages') expect(lines.map(({ type }) => type)).toEqual(['conversation', 'run', 'run', 'damaged'])
    expect(await conversation.object.remove(), name).toEqual({ ok: true })
    expect(await conversation.object.settings()).toMatchObject({ code: 'conversation_deleted' })
  }
})

test('a run whose events cannot be stored is refused, and is not accepted and then waited for', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const conversation = await usedConversation()
  conversation.database.exec('PRAGMA foreign_keys = OFF; DROP TABLE events')
  conversation.live()
  const refusal = await conversation.start('c').catch((error: unknown) => error)
  expect([isDamage(refusal), conversation.store.runs.row(runId('c'))]).toEqual([true, undefined])
})

test('a column of bytes is told as damage or set aside, and stops nothing for ever', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const first = await usedConversation()
  const columns = tables(first).flatMap((table) =>
    first.rows(`PRAGMA table_info(${table})`).map(({ name }) => [table, String(name)] as const),
  )
  for (const [table, column] of columns) {
    const conversation = await usedConversation()
    try {
      conversation.database.exec(`UPDATE ${table} SET ${column} = x'00ff'`)
    } catch {
      // The column takes no bytes, or may not have the same in each row.
      continue
    }
    expect(
      (await thrownBy(conversation)).filter((error) => !isDamage(error)),
      `${table}.${column}`,
    ).toEqual([])
    await exportOf(conversation)
  }
})

test.each([
  ['no such table: runs: SQLITE_ERROR', true],
  ['database disk image is malformed: SQLITE_CORRUPT', true],
  ['file is not a database', true],
  ['URI malformed', false],
  ['The object was reset because its code was updated.', false],
])('the error “%s” tells of damage: %s', (message, isDamaged) => {
  expect(isDamage(new Error(message))).toBe(isDamaged)
})
