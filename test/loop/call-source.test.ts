import { expect, test } from 'vitest'
import { fold } from '../../src/loop/fold.ts'
import { recordOf } from '../../src/loop/record.ts'
import { ask, id, play, say, tool } from '../fixtures/play.ts'

test('the record of a run tells which Worker each call was sent to, and in which version it answered', async () => {
  const answer = { ok: true, content: [{ type: 'text', text: 'charged' }], deployment: 'v7' }
  const charge = { ...tool('charge', () => answer, { version: '2.1.0' }), place: 'TOOL_SHOP' }
  const { state } = await play({ script: [ask(['charge'], ['unknown']), say('Done.')], tools: [charge] })
  const [charged, unknown] = recordOf(state).calls
  expect(charged).toEqual({
    ...{ id: id(1, 0), tool: 'charge', arguments: {}, status: 'settled', ok: true },
    content: [{ type: 'text', text: 'charged' }],
    durationMs: expect.any(Number),
    ...{ place: 'TOOL_SHOP', version: '2.1.0', deployment: 'v7' },
  })
  for (const member of ['place', 'version', 'deployment']) expect(unknown).not.toHaveProperty(member)
})

test('a call that is still under way tells it too', async () => {
  const { state } = await play({ script: [say('Done.')] })
  const call = { callId: id(1, 0), tool: 'charge', arguments: '{}' }
  delete state.finished
  fold(state, { type: 'step.started', step: 2 })
  fold(state, { type: 'step.answered', step: 2, text: '', calls: [call], finish: 'tool_calls' })
  fold(state, { type: 'call.started', ...call, attempt: 1, at: 0, deadline: 9, place: 'TOOL_SHOP', version: '1' })
  expect(recordOf(state).calls).toMatchObject([{ status: 'open', place: 'TOOL_SHOP', version: '1' }])
})

test('the record of a run of an older edge, whose events do not tell it, has none of it', async () => {
  const call = { callId: id(1, 0), tool: 'look', arguments: '{}' }
  const { state } = await play({
    script: [say('Done.')],
    tools: [tool('look')],
    before: (replayed) => {
      fold(replayed, { type: 'run.started', model: 'test/scripted', tools: ['look'], at: 0 })
      fold(replayed, { type: 'step.started', step: 1 })
      fold(replayed, { type: 'step.answered', step: 1, text: '', calls: [call], finish: 'tool_calls' })
      fold(replayed, { type: 'call.started', ...call, attempt: 1, at: 0, deadline: 9 })
      fold(replayed, { type: 'call.settled', ...call, ok: true, content: [], durationMs: 1 })
    },
  })
  expect(recordOf(state).calls).toEqual([
    { id: call.callId, tool: 'look', arguments: {}, status: 'settled', ok: true, durationMs: 1, content: [] },
  ])
})
