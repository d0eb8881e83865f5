import { expect, test } from 'vitest'
import type { CallStatus } from '../../src/contract/tool.ts'
import { fold } from '../../src/loop/fold.ts'
import type { RunState } from '../../src/loop/state.ts'
import { ask, id, play, say, tool } from '../fixtures/play.ts'

const call = { callId: id(1, 0), tool: 'pay' }

/** The edge was lost while this call ran. */
function inFlight(state: RunState): void {
  fold(state, { type: 'run.started', model: 'test/scripted', tools: ['pay'], at: 0 })
  fold(state, { type: 'step.started', step: 1 })
  fold(state, { type: 'step.answered', step: 1, text: '', calls: [{ ...call, arguments: '{}' }], finish: 'tool_calls' })
  fold(state, { type: 'call.started', ...call, attempt: 1, at: 0, deadline: 10 })
}

async function resume(status: () => Promise<CallStatus>) {
  const attempts: number[] = []
  const keys: string[] = []
  const pay = {
    ...tool('pay', (_, { attempt }) => `paid ${attempts.push(attempt)}`, { reconcile: true }),
    status: async ({ context }: { context: { idempotencyKey: string } }) => {
      keys.push(context.idempotencyKey)
      return status()
    },
  }
  const { state, faults } = await play({ script: [say('done')], tools: [pay], before: inFlight, now: () => 2000 })
  return { attempts, keys, settled: state.calls[0]?.result, faults }
}

test('a tool with status is asked about a call in flight, and its answer counts', async () => {
  const { attempts, keys, settled } = await resume(async () => ({
    ok: true,
    content: [{ type: 'text', text: 'paid' }],
  }))
  expect(keys).toEqual([id(1, 0)])
  expect(attempts).toEqual([])
  expect(settled).toMatchObject({ ok: true, content: [{ type: 'text', text: 'paid' }] })
})

test('a call that took effect is not sent again, even if its outcome is lost', async () => {
  const { attempts, settled } = await resume(async () => 'done')
  expect(attempts).toEqual([])
  expect(settled).toMatchObject({ ok: true })
})

test('a call that did not take effect is sent again as the next attempt', async () => {
  const { attempts, settled } = await resume(async () => 'absent')
  expect(attempts).toEqual([2])
  expect(settled).toMatchObject({ ok: true, content: [{ type: 'text', text: 'paid 1' }] })
})

test('without status a call runs at most once: the model is told that its outcome is unknown', async () => {
  const { attempts, settled } = await resume(async () => 'unknown')
  expect(attempts).toEqual([])
  expect(settled).toMatchObject({ ok: false, error: { code: 'outcome_unknown' } })
  const thrown = await resume(() => Promise.reject(new Error('no such method')))
  expect(thrown.settled).toMatchObject({ error: { code: 'outcome_unknown' } })
  expect(thrown.faults).toMatchObject([
    { code: 'status_failed', detail: 'no such method' },
    { code: 'outcome_unknown' },
  ])
})

test('the status of a call that timed out is requested before the model is told', async () => {
  const slow = {
    ...tool('pay', (_args, _context, control) => control.whenAborted(), { reconcile: true, timeoutMs: 1 }),
    status: async (): Promise<CallStatus> => 'done',
  }
  const { state } = await play({ script: [ask(['pay']), say('ok')], tools: [slow] })
  expect(state.calls[0]?.result).toMatchObject({
    ok: true,
    content: [{ type: 'text', text: 'The call took effect, but only after its time limit.' }],
  })
})
