import { expect, test } from 'vitest'
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
