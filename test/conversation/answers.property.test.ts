import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { CallAnswer, RunTerms } from '../../src/contract/conversation.ts'
import type { ModelRequest, ToolChoice } from '../../src/contract/model.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 0 }))
afterEach(() => void vi.useRealTimers())

const clock = tool('clock', () => '12:00')
const clientTools = ['pick', 'choose'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
const STEPS = 3

function answerTo({ messages }: ModelRequest) {
  const steps = messages.filter(({ role }) => role === 'assistant').length
  return steps < STEPS ? ask(['pick'], ['clock'], ['choose']) : say('Done.')
}

const terms: fc.Arbitrary<RunTerms> = fc.record(
  {
    model: fc.constantFrom('test/scripted', 'test/other'),
    system: fc.constantFrom('A', 'B', 'x'.repeat(200_000)),
    clientTools: fc.subarray(clientTools),
    toolChoice: fc.constantFrom<ToolChoice>('required', 'auto', { tool: 'clock' }),
    sampling: fc.constantFrom({}, { temperature: 0 }),
  },
  { requiredKeys: [] },
)
const extraInput = fc.record({ terms, text: fc.option(fc.constantFrom('And?', 'So?')) })
const turn = fc.record({
  /** What comes with the first answer, and with the others if they come one by one. */
  first: extraInput,
  second: extraInput,
  isInParts: fc.boolean(),
  dies: fc.boolean(),
})

type Turn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never

async function played(turns: readonly Turn[], isMortal: boolean) {
  const conversation = new TestConversation(answerTo, [clock])
  const settled = async () => {
    const reply = await conversation.object.record(runId(0), 10_000)
    return reply.ok ? reply.record : undefined
  }
  await conversation.start(0, { request: { clientTools, system: 'A' } })
  for (const { first, second, isInParts, dies } of turns) {
    const calls = (await settled())?.calls.filter(({ status }) => status === 'caller').map((call) => call.id) ?? []
    if (calls.length === 0) break
    const parts = isInParts ? calls.map((call) => [call]) : [calls]
    for (const [index, part] of parts.entries()) {
      const { terms, text } = index === 0 ? first : second
      const answers = Object.fromEntries(part.map((call): [string, CallAnswer] => [call, { result: call, ok: true }]))
      const input = text === null ? [] : [{ role: 'user', content: text } as const]
      expect(await conversation.object.answer(runId(0), answers, { key: undefined, input, terms })).toMatchObject({
        ok: true,
      })
      if (index === parts.length - 1) await settled()
      if (isMortal && dies) conversation.live()
    }
  }
  const { modelNames, requests } = conversation
  // What no row names any more is not kept.
  const orphans = conversation.rows(
    "SELECT DISTINCT id FROM chunks WHERE '@' || id NOT IN (SELECT substr(request, 1, instr(request, '/') - 1) FROM runs)",
  )
  return {
    record: await settled(),
    modelNames,
    requests,
    kept: orphans.length,
    facts: conversation
      .journal(0)
      .filter(({ type }) => type !== 'call.proposed')
      .map((event) => ({ ...event, seq: 0 })),
  }
}

test('terms sent with answers, in parts or at once, give the same run in one object instance and in several', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: STEPS }), async (turns) => {
      const batch = await played(turns, false)
      expect(await played(turns, true)).toEqual(batch)
      expect(batch.kept).toBe(0)
    }),
    { numRuns: 60 },
  )
})
