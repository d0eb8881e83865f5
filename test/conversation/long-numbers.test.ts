import { expect, test } from 'vitest'
import type { ModelRequest } from '../../src/contract/model.ts'
import { changesIn, NUMBER_PARTS } from '../fixtures/json-numbers.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

test('of 10,000 numbers, none is changed in a run that another life of its object resumes', async () => {
  for (const { numbers, list } of NUMBER_PARTS) {
    const got: unknown[] = []
    const find = tool('find', ({ list: structured }) => ({
      ok: true,
      content: [{ type: 'text', text: list }],
      structured: { list: structured },
    }))
    const pay = tool('pay', (args) => void got.push(args), { approval: 'always' })
    const answer = ({ messages }: ModelRequest) =>
      messages.at(-1)?.role === 'tool' ? say('Done.') : ask(['find', list], ['pay', list])
    const talk = new TestConversation(answer, [find, pay], { MAX_RESULT_BYTES: '1000000' })
    await talk.run(1, 'Go')
    talk.live()
    await talk.object.answer(runId(1), { [`call_${runId(1).slice(4)}_1_1`]: { decision: 'approve' } })
    await talk.object.record(runId(1), 10_000)
    expect(changesIn(got, numbers)).toEqual([[]])
    expect(changesIn(talk.requests[1]?.messages, numbers)).toEqual([[], [], []])
    expect(changesIn(talk.journal(1), numbers)).toEqual(Array.from({ length: 7 }, () => []))
  }
})
