import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import {
  decodeEvents,
  decodeLine,
  encodeEvent,
  encodeLine,
  eventId,
  frameOfLine,
  parseEventId,
  typeOfLine,
} from '../../src/wire/events.ts'
import { inPieces } from '../fixtures/replay.ts'

const run = { runId: 'run_1' }
const EVENTS: readonly RunEvent[] = [
  { ...run, seq: 1, type: 'run.started', model: 'openai/probe', tools: ['clock'], at: 1790000000000 },
  { ...run, seq: 2, type: 'step.started', step: 1 },
  { ...run, seq: 3, type: 'text.delta', step: 1, text: 'Line one\nline two \u2028 "🎈"' },
  {
    ...run,
    seq: 4,
    type: 'call.settled',
    callId: 'c',
    tool: 'clock',
    ok: true,
    content: [{ type: 'text', text: 'noon' }],
    durationMs: 2,
  },
  {
    ...run,
    seq: 5,
    type: 'run.finished',
    status: 'completed',
    finish: 'stop',
    answer: 'Noon.',
    usage: { inputTokens: 1, outputTokens: 1 },
  },
]

describe('a run’s event', () => {
  test('is a frame with its type, its id, and one line of JSON that begins with the type', () => {
    const event: RunEvent = { runId: 'run_1', seq: 7, type: 'text.delta', step: 2, text: 'a\nb' }
    expect(encodeEvent(event)).toBe(
      'event: text.delta\nid: run_1.7\ndata: {"type":"text.delta","runId":"run_1","seq":7,"step":2,"text":"a\\nb"}\n\n',
    )
  })

  test('is decoded to an equal event', async () => {
    const bytes = new TextEncoder().encode(`: alive\n\n${EVENTS.map(encodeEvent).join('')}`)
    const read: RunEvent[] = []
    for await (const event of decodeEvents(inPieces(bytes, 7))) read.push(event)
    expect(read).toEqual(EVENTS)
    expect(EVENTS.map(encodeLine).map(decodeLine)).toEqual(EVENTS)
  })

  test('is framed from its stored line exactly as when it was new', () => {
    for (const event of EVENTS) {
      const line = encodeLine(event)
      expect(frameOfLine(typeOfLine(line), eventId(event.runId, event.seq), line)).toBe(encodeEvent(event))
    }
  })

  test('of an unknown type or shape is omitted', () => {
    const lines = [
      '{"type":"run.exploded","runId":"run_1","seq":1}',
      '{"type":"toString","runId":"run_1","seq":1}',
      '{"type":"step.started","seq":1}',
      '{"type":"step.started","runId":"run_1"}',
      '["type"]',
      'null',
      '{"type"',
    ]
    expect(lines.map((data) => decodeLine(data))).toEqual(lines.map(() => undefined))
  })
})

test('an event id names run and position, and only valid ids are read', () => {
  expect(parseEventId(eventId('run_aB-9', 12))).toEqual({ runId: 'run_aB-9', seq: 12 })
  const none = [
    '',
    'run_1',
    'run_1.',
    '.1',
    'run_1.x',
    'run_1.-1',
    'run.1.2',
    'run 1.2',
    `${'r'.repeat(65)}.1`,
    'r.1\n',
  ]
  expect(none.map(parseEventId)).toEqual(none.map(() => undefined))
})
