import { expect, onTestFinished, test, vi } from 'vitest'
import { describeBinding } from '../../../src/host/worker/call.ts'
import { FULL } from '../../fixtures/full-definition.ts'

test('every field of the definition of a bound tool reaches the host', async () => {
  const definition = { ...FULL, hash: 'h', reconcile: true, undo: true, callsTools: true }
  const binding = { describe: async () => ({ contract: 1, tools: [definition] }) }
  expect(await describeBinding(binding, { now: () => 0, timeoutMs: 1000 })).toEqual({
    ok: true,
    transport: 'rpc',
    tools: [definition],
  })
})

test('the failure of one request does not replace what another has learnt meanwhile', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const answers = [new Promise(() => {}), Promise.resolve({ contract: 1, tools: [] })]
  const binding = { describe: async () => answers.shift() }
  const options = { now: Date.now, timeoutMs: 1000 }
  const described = { ok: true, transport: 'rpc', tools: [] }
  const hungRequest = describeBinding(binding, options)
  expect(await describeBinding(binding, options)).toEqual(described)
  await vi.advanceTimersByTimeAsync(1000)
  expect([await hungRequest, await describeBinding(binding, options)]).toEqual([described, described])
})
