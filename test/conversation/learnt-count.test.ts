import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { requestOf, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { countTokens } from './window-model.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const STEPS = 30

/** Asks for so many pages, and counts three tokens for each ten that it is thought to count. */
function answer(request: ModelRequest): readonly ModelEvent[] {
  const pages = Math.max(
    0,
    ...request.messages.map((message) => Number(/page (\d+)/.exec(JSON.stringify(message))?.[1] ?? 0)),
  )
  const usage = { inputTokens: Math.round(countTokens(request) * 0.3), outputTokens: 5 }
  if (pages >= STEPS)
    return [
      { type: 'text', text: 'Read.' },
      { type: 'finish', finish: 'stop', usage },
    ]
  const args = JSON.stringify({ page: pages + 1 })
  return [
    { type: 'call', index: 0, tool: 'look', arguments: args },
    { type: 'finish', finish: 'tool_calls', usage },
  ]
}

const look = tool('look', ({ page }) => `page ${Number(page)} ${'lorem ipsum '.repeat(300)}`, {
  annotations: { readOnly: true },
})

/** Reads all pages in one run, and has the object lost at one commit. Returns the steps that were reduced, and all commits. */
async function read(dieAt?: number): Promise<{ readonly steps: readonly number[]; readonly commits: number }> {
  const conversation = new TestConversation(answer, [look])
  conversation.modelWindow = { contextTokens: 4000 }
  let commits = 0
  let isDead = false
  conversation.onTransaction = (moment) => {
    if (isDead || (moment === 'before' && ++commits === dieAt)) {
      isDead = true
      throw new Error('the object is gone')
    }
  }
  const limits = { ...requestOf({}).limits, steps: 100, calls: 100, callsPerTool: 100 }
  await conversation
    .start(1, { request: { input: [{ role: 'user', content: 'Read all.' }], limits } as object })
    .then(() => conversation.object.record(runId(1), 200))
    .catch(() => {})
  if (isDead) {
    isDead = false
    conversation.onTransaction = () => {}
    conversation.live()
    // The run was not accepted.
    if (conversation.store.life() !== 'open' || !conversation.store.runs.row(runId(1))) return { steps: [], commits }
    for (let tries = 0; tries < 50 && conversation.store.runs.row(runId(1))?.status !== 'completed'; tries++) {
      if (conversation.alarmAt < Infinity) await conversation.ring()
      await conversation.object.record(runId(1), 50)
    }
  }
  const steps = conversation.journal(1).flatMap((event) => (event.type === 'context.reduced' ? [event.step] : []))
  expect([dieAt, conversation.store.runs.row(runId(1))?.status]).toEqual([dieAt, 'completed'])
  return { steps, commits }
}

test('after a crash at any commit, the prompts of a run are reduced at the same steps as without it', async () => {
  const undisturbed = await read()
  expect(undisturbed.steps.length).toBeGreaterThan(1)
  for (let dieAt = 2; dieAt <= undisturbed.commits; dieAt += 5) {
    const { steps } = await read(dieAt)
    if (steps.length > 0) expect({ dieAt, steps }).toEqual({ dieAt, steps: undisturbed.steps })
  }
})
