import { expect, test } from 'vitest'
import { failure, type ToolOutcome } from '../../src/contract/tool.ts'
import { ask, bodies, id, play, say, tool } from '../fixtures/play.ts'

const broken = tool('broken', () => failure('broken', 'It broke.'))

function undoable(name: string, undone: string[], outcome: ToolOutcome = { ok: true, content: [] }) {
  return {
    ...tool(name, ({ of }) => `${name} ${String(of)}`, { undo: true }),
    undo: async ({ arguments: args, context }: { arguments: object; context: { idempotencyKey: string } }) => {
      undone.push(`${name} ${JSON.stringify(args)} ${context.idempotencyKey}`)
      return outcome
    },
  }
}

test('if a tool fails, earlier calls are undone, newest first, and the model is told', async () => {
  const undone: string[] = []
  const { state, events } = await play({
    script: [ask(['book', { of: 'room' }]), ask(['charge', { of: 'card' }], ['broken']), say('sorry')],
    tools: [undoable('book', undone), undoable('charge', undone), broken],
    request: { compensate: true },
  })
  expect(undone).toEqual([`charge {"of":"card"} ${id(2, 0)}`, `book {"of":"room"} ${id(1, 0)}`])
  expect(bodies(events).filter((event) => 'because' in event)).toEqual([
    { type: 'call.undone', callId: id(2, 0), tool: 'charge', ok: true, because: id(2, 1) },
    { type: 'call.undone', callId: id(1, 0), tool: 'book', ok: true, because: id(2, 1) },
  ])
  const results = state.messages.filter((message) => message.role === 'tool')
  expect(results.map(({ ok, content }) => [ok, content])).toEqual([
    // What the model has read stands.
    [true, [{ type: 'text', text: 'book room' }]],
    [false, [{ type: 'text', text: 'The tool "charge" succeeded but was undone, because "broken" failed.' }]],
    [false, [{ type: 'text', text: 'It broke.\nbook({"of":"room"}) was undone because of it.' }]],
  ])
  expect(state.finished).toMatchObject({ status: 'completed', answer: 'sorry' })
})

test('a call that cannot be undone is reported and blocks no other; nothing is undone twice', async () => {
  const undone: string[] = []
  const { state } = await play({
    script: [ask(['a', { of: 1 }], ['b', { of: 2 }]), ask(['broken']), ask(['broken']), say('sorry')],
    tools: [undoable('a', undone), undoable('b', undone, failure('late', 'It is too late.')), broken],
    request: { compensate: true },
  })
  expect(undone).toEqual([`b {"of":2} ${id(1, 1)}`, `a {"of":1} ${id(1, 0)}`])
  expect(state.messages.at(-4)).toMatchObject({
    content: [
      {
        type: 'text',
        text: 'It broke.\nb({"of":2}) was NOT undone: It is too late.\na({"of":1}) was undone because of it.',
      },
    ],
  })
})

test('nothing is undone if the run does not compensate, or if the call never ran', async () => {
  const undone: string[] = []
  const script = [ask(['a', { of: 1 }]), ask(['broken']), say('sorry')]
  await play({ script, tools: [undoable('a', undone), broken] })
  await play({
    script: [ask(['a', { of: 1 }]), ask(['nosuch'], ['a', '{']), say('sorry')],
    tools: [undoable('a', undone)],
    request: { compensate: true },
  })
  expect(undone).toEqual([])
})

test('a failure that ends the run undoes its calls before the run ends', async () => {
  const undone: string[] = []
  const { state, events } = await play({
    script: [ask(['a', { of: 1 }]), ask(['broken'])],
    tools: [undoable('a', undone), broken],
    request: { compensate: true, toolErrors: 'fail' },
  })
  expect(undone).toHaveLength(1)
  expect(state.finished).toMatchObject({ status: 'failed', error: { code: 'broken' } })
  expect(events.at(-1)?.type).toBe('run.finished')
})

test('undo receives the complete outcome, however little of it the model saw', async () => {
  const booked = { number: 'B-1', terms: 'x'.repeat(2000) }
  const done = {
    ok: true as const,
    content: [{ type: 'text' as const, text: JSON.stringify(booked) }],
    structured: booked,
  }
  const outcomes: unknown[] = []
  const book = {
    ...tool('book', () => done, { undo: true }),
    undo: async (_: object, outcome: ToolOutcome) => {
      outcomes.push(outcome)
      return outcome
    },
  }
  await play({
    script: [ask(['book']), ask(['broken']), say('sorry')],
    tools: [book, broken],
    request: { compensate: true, limits: { resultBytes: 1000 } },
  })
  expect(outcomes).toEqual([done])
})
