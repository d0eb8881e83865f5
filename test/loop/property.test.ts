import { readFileSync } from 'node:fs'
import { Validator } from '@cfworker/json-schema'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { DEFAULT_LIMITS, type Limits } from '../../src/contract/limits.ts'
import { fold } from '../../src/loop/fold.ts'
import { newState, type RunState } from '../../src/loop/state.ts'
import { ask, type Play, type Played, play, requestOf, say, tool } from '../fixtures/play.ts'

const failing = { ok: false, error: { code: 'broken', message: 'It broke.' } }
const TOOLS = [
  tool('fine'),
  tool('slow', async () => {
    await Promise.resolve()
    await Promise.resolve()
    return 'late'
  }),
  tool('failing', () => failing),
  tool('throwing', () => {
    throw new Error('no')
  }),
  tool('waiting', (_args, _context, control) => control.whenAborted(), { timeoutMs: 1 }),
  tool('alone', undefined, { exclusive: true }),
  tool('direct', undefined, { returnDirect: 'always' }),
  tool('awaiting_approval', undefined, { approval: 'always' }),
  tool('reads', undefined, { annotations: { readOnly: true } }),
  { ...tool('undoable', undefined, { undo: true }), undo: async () => ({ ok: true, content: [] }) as const },
]
const CLIENT_TOOLS = [{ name: 'mine', description: 'The caller runs it', inputSchema: { type: 'object' } }]

const call = fc.tuple(
  fc.constantFrom(
    'fine',
    'slow',
    'failing',
    'throwing',
    'waiting',
    'alone',
    'direct',
    'awaiting_approval',
    'reads',
    'undoable',
    'mine',
    'unheard_of',
  ),
  fc.constantFrom('{}', '', '{"a":1}', '{"a":', '[]', 'null'),
)
const error: ModelEvent = { type: 'error', error: { code: 'model_unavailable', message: 'down', retryable: true } }
const step = fc.oneof(
  { weight: 6, arbitrary: fc.array(call, { minLength: 1, maxLength: 5 }).map((calls) => ask(...calls)) },
  { weight: 2, arbitrary: fc.string().map(say) },
  { weight: 1, arbitrary: fc.constant([{ type: 'text', text: 'I' }, error] as ModelEvent[]) },
  { weight: 1, arbitrary: fc.constant([{ type: 'text', text: 'cut' }] as ModelEvent[]) },
)

const scene = fc.record({
  steps: fc.array(step, { maxLength: 6 }),
  limits: fc.record({
    steps: fc.integer({ min: 1, max: 4 }),
    calls: fc.integer({ min: 1, max: 8 }),
    callsPerTool: fc.integer({ min: 1, max: 4 }),
    concurrentCalls: fc.integer({ min: 1, max: 3 }),
    tokens: fc.integer({ min: 1, max: 100 }),
  }),
  toolErrors: fc.constantFrom('model' as const, 'fail' as const),
  onLimit: fc.constantFrom('answer' as const, 'model' as const, 'fail' as const),
  eager: fc.boolean(),
  compensate: fc.boolean(),
  durable: fc.boolean(),
  cancelAt: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
})

test('for any script, failures and cancellations a run ends once with one outcome per call, a valid history and its limits kept', async () => {
  await fc.assert(
    fc.asyncProperty(scene, async ({ steps, limits, durable, cancelAt, ...choices }) => {
      const abort = new AbortController()
      const request = {
        ...choices,
        limits,
        durable,
        clientTools: CLIENT_TOOLS,
        ...(durable && { conversation: 'conv_1' }),
      } satisfies Play['request']
      const played = await play({
        script: [...steps, ...Array.from({ length: 8 }, () => say('enough'))],
        tools: TOOLS,
        request,
        signal: abort.signal,
        onEvent: ({ seq }) => {
          if (seq === cancelAt) abort.abort()
        },
      })
      expectOneEnd(played, durable)
      expectOneOutcomeEach(played.events, played.state)
      expectValidHistory(played.state)
      expectLimits(played.events, { ...DEFAULT_LIMITS, ...limits })
      expectReplay(played, request)
      expectDocumented(played.events)
    }),
    { numRuns: 600 },
  )
})

const document = JSON.parse(readFileSync('src/http/openapi.txt', 'utf8')) as Record<string, any>
const validators = new Map<string, Validator>()

/** Each event fits its schema in the OpenAPI document, and has no member that is not there. */
function expectDocumented(events: readonly RunEvent[]): void {
  for (const event of events) {
    const { components } = document
    const schema = components.schemas[`RunEvent.${event.type}`]
    const validator = validators.get(event.type) ?? new Validator({ ...schema, components }, '2020-12')
    validators.set(event.type, validator)
    expect(validator.validate(JSON.parse(JSON.stringify(event))).errors).toEqual([])
    expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(Object.keys(event)))
  }
}

function expectOneEnd({ events, state }: Played, durable: boolean): void {
  const ends = events.filter((event) => event.type === 'run.finished')
  const waits = state.status === 'waiting'
  expect(ends).toHaveLength(waits ? 0 : 1)
  expect(events.at(-1)?.type).toBe(waits ? 'run.waiting' : 'run.finished')
  expect(waits && !durable).toBe(false)
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1))
}

function expectOneOutcomeEach(events: readonly RunEvent[], state: RunState): void {
  const settled = events.filter((event) => event.type === 'call.settled').map((event) => event.callId)
  expect(new Set(settled).size).toBe(settled.length)
  const open = state.calls.filter((each) => !each.result)
  const maybeOpen = state.status === 'waiting' || state.finished?.finish === 'tool_calls'
  if (!maybeOpen) expect(open).toEqual([])
  expect(open.every((each) => each.status === 'awaiting_caller' || each.status === 'awaiting_approval')).toBe(true)
}

/** Every call has exactly one result, contiguous and in order; only the step that waits may lack some. */
function expectValidHistory({ messages, status, finished }: RunState): void {
  const unfinished = status === 'waiting' || finished?.finish === 'tool_calls'
  messages.forEach((message, index) => {
    if (message.role !== 'assistant' || !message.calls) return
    const results = messages.slice(index + 1, index + 1 + message.calls.length)
    const isLast = !messages.slice(index + 1).some((later: Message) => later.role === 'assistant')
    if (unfinished && isLast) return
    expect(results.map((result) => result.role === 'tool' && result.callId)).toEqual(
      message.calls.map((each) => each.callId),
    )
  })
}

function expectLimits(events: readonly RunEvent[], limits: Limits): void {
  const started = events.filter((event) => event.type === 'call.started')
  expect(started.length).toBeLessThanOrEqual(limits.calls)
  for (const { tool: name } of started) {
    expect(started.filter((event) => event.tool === name).length).toBeLessThanOrEqual(limits.callsPerTool)
  }
  let open = 0
  const rounds = new Set<string>()
  for (const event of events) {
    if (event.type === 'call.started') {
      expect(++open).toBeLessThanOrEqual(limits.concurrentCalls)
      rounds.add(event.callId.split('_')[2] ?? '')
    }
    if (event.type === 'call.settled' && started.some(({ callId }) => callId === event.callId)) open--
  }
  expect(rounds.size).toBeLessThanOrEqual(limits.steps)
}

function expectReplay({ events, state }: Played, request: Play['request']): void {
  const replayedState = newState(
    requestOf(request),
    new Map(TOOLS.map(({ definition }) => [definition.name, definition])),
    state.features,
  )
  for (const { runId: _run, seq: _seq, ...body } of events) fold(replayedState, body)
  expect(replayedState).toEqual(state)
}
