import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { say, tool } from '../fixtures/play.ts'
import { keptEdge } from '../http/kept-edge.ts'

const MIB = 1024 * 1024
const PIECE = 'x'.repeat(MIB)
/** The most that the platform passes between an object and the edge. */
const MOST_BYTES = 32 * MIB

/** An answer of this many MiB; `taken` counts what was read of it. */
function* large(mib: number, of: 'text' | 'reasoning' | 'call', usage = { mib: 0 }): Generator<ModelEvent> {
  for (; usage.mib < mib; usage.mib++) {
    if (of === 'call') yield { type: 'call.delta', index: 0, tool: 'look', arguments: PIECE }
    else yield { type: of, text: PIECE }
  }
  if (of === 'call') yield { type: 'call', index: 0, tool: 'look', arguments: `{"a":"${PIECE.repeat(mib)}"}` }
  yield { type: 'finish', finish: of === 'call' ? 'tool_calls' : 'stop' }
}

describe('an answer of a model that is too large', () => {
  test.each(['text', 'reasoning', 'call'] as const)('ends the run with a code, and is not read on: %s', async (of) => {
    const usage = { mib: 0 }
    const edge = keptEdge({ script: [() => large(40, of, usage), say('Well.')], tools: [tool('look')] })
    await edge.post('/conversations', { id: 'c' })
    const failed = await edge.post('/conversations/c/runs', { input: 'Write' })
    expect([failed.status, await failed.json()]).toMatchObject([
      502,
      { code: 'model_answer_too_large', detail: 'The answer of the model is longer than this edge accepts.' },
    ])
    expect(usage.mib).toBeLessThan(4)
    // The conversation goes on.
    const next: any = await (await edge.post('/conversations/c/runs', { input: 'And?' })).json()
    expect(next).toMatchObject({ status: 'completed', answer: 'Well.' })
    const paths = ['runs', 'messages', 'export', `runs/${next.id}`]
    for (const path of paths) expect((await edge.fetch(`/conversations/c/${path}`)).status).toBe(200)
  })

  test('can be allowed for a setting, and leaves the record and the messages readable in part', async () => {
    const vars = { MAX_ANSWER_CHARACTERS: String(64 * MIB) }
    const edge = keptEdge({ script: [() => large(40, 'text')], vars })
    await edge.post('/conversations', { id: 'c' })
    const run: any = await (await edge.post('/conversations/c/runs', { input: 'Write' })).json()
    expect(run).toMatchObject({ status: 'completed', isPartial: true })
    const record = await (await edge.fetch(`/conversations/c/runs/${run.id}`)).text()
    expect(record.length).toBeLessThan(MOST_BYTES)
    const messages = await (await edge.fetch('/conversations/c/messages')).text()
    expect(messages.length).toBeLessThan(MOST_BYTES)
    // A page ends after a long message; the ones before it are on the next page.
    const page: any[] = JSON.parse(messages)
    expect(page.map(({ message, isCut }) => [message.role, isCut])).toEqual([['assistant', true]])
  })
})
