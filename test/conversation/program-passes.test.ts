import { expect, test } from 'vitest'
import type { ModelRequest } from '../../src/contract/model.ts'
import { ProgramStopped } from '../../src/contract/program.ts'
import { failure, type Tool } from '../../src/contract/tool.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

/** A program, as the loop knows it, that is run again after its call has waited for a person. Asks for these calls in turn. */
function programOf(asks: readonly (readonly [tool: string, id: string])[]): Tool {
  let pass = 0
  return {
    ...tool('program'),
    makesCalls: true,
    call: async (_request, { calls }) => {
      const [name = '', id] = asks[pass++] ?? []
      try {
        calls?.ask([{ do: 'call', tool: name, arguments: JSON.stringify({ id }) }])
        const [release] = (await calls?.next()) ?? []
        return { ok: true, content: [{ type: 'text', text: JSON.stringify(release?.value) }] }
      } catch (error) {
        if (error instanceof ProgramStopped) return failure(error.code, error.message)
        throw error
      }
    },
  }
}

const pay = tool('pay', ({ id }) => `receipt of ${String(id)}`, { approval: 'always' })
const sell = tool('sell', ({ id }) => `receipt of ${String(id)}`)

test.each([
  ['the same call', ['pay', 'a'], [true, '"receipt of a"']],
  ['other arguments', ['pay', 'b'], [false, 'program_diverged']],
  ['another tool', ['sell', 'a'], [false, 'program_diverged']],
] as const)('a program that asks for %s when it is run again', async (_, second, outcome) => {
  const program = programOf([['pay', 'a'], second])
  const answer = ({ messages }: ModelRequest) => (messages.at(-1)?.role === 'tool' ? say('Done.') : ask(['program']))
  const talk = new TestConversation(answer, [program, pay, sell])
  await talk.run(1, 'Go')
  const call = `call_${runId(1).slice(4)}_1_0`
  await talk.object.answer(runId(1), { [`${call}-0`]: { decision: 'approve' } })
  await talk.object.record(runId(1), 10_000)
  const settled = talk.journal(1).flatMap((event) => (event.type === 'call.settled' ? [event] : []))
  expect(settled.map(({ tool: name, ok }) => [name, ok])).toEqual([
    ['pay', true],
    ['program', outcome[0]],
  ])
  const { content, error } = settled[1] ?? {}
  expect(error?.code ?? content?.map((part) => part.type === 'text' && part.text).join()).toBe(outcome[1])
  if (!outcome[0]) expect(error?.message).toContain('These may have taken effect: pay({"id":"a"})')
})

test('a program that waits is parked by an edge without programs, and continues on one that has them', async () => {
  const program = programOf([
    ['pay', 'a'],
    ['pay', 'a'],
  ])
  const answer = ({ messages }: ModelRequest) => (messages.at(-1)?.role === 'tool' ? say('Done.') : ask(['program']))
  const talk = new TestConversation(answer, [program, pay])
  await talk.run(1, 'Go')
  const call = `call_${runId(1).slice(4)}_1_0`
  const decide = () => talk.object.answer(runId(1), { [`${call}-0`]: { decision: 'approve' } })
  talk.loop = { features: [] }
  talk.live()
  expect(await decide()).toMatchObject({ ok: false, code: 'run_parked' })
  expect(talk.store.runs.row(runId(1))).toMatchObject({ status: 'parked' })
  talk.loop = undefined
  talk.live()
  await talk.object.retry(runId(1))
  expect(await decide()).toMatchObject({ ok: true })
  expect(await talk.object.record(runId(1), 10_000)).toMatchObject({ record: { status: 'completed', answer: 'Done.' } })
})
