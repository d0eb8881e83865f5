import { expect, test } from 'vitest'
import type { RunEventBody } from '../../src/contract/event.ts'
import { sumUsage } from '../../src/loop/usage.ts'

const usage = { inputTokens: 10, outputTokens: 5 }
const settled = { type: 'call.settled', tool: 't', ok: true, usage, durationMs: 1 } as const

test('the usage of a run is summed of its events, each figure once, that of agents apart', () => {
  const events: RunEventBody[] = [
    { type: 'step.started', step: 1 },
    { type: 'answer.rejected', step: 1, text: 'x', issues: 'y', usage },
    { type: 'step.answered', step: 1, text: '', calls: [], finish: 'tool_calls', usage },
    { type: 'call.started', callId: 'own', tool: 't', attempt: 1, at: 0, deadline: 1 },
    { type: 'call.started', callId: 'agent', tool: 't', attempt: 1, at: 0, deadline: 1, isAgent: true },
    { ...settled, callId: 'own' },
    { ...settled, callId: 'agent' },
    { type: 'step.finished', step: 1, finish: 'tool_calls', usage },
  ]
  expect(sumUsage(events)).toEqual({ usage: { inputTokens: 40, outputTokens: 20 }, agentUsage: usage })
})
