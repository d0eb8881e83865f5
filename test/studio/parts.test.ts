import { describe, expect, test } from 'vitest'
import { evalCase } from '../../src/studio/conversation/eval-case.ts'
import { turnsOf } from '../../src/studio/conversation/turns.ts'
import { diffLines } from '../../src/studio/part/line-diff.ts'
import { visible } from '../../src/contract/hidden-characters.ts'
import { argumentHint, duration } from '../../src/studio/part/text.ts'
import { repeatBody } from '../../src/studio/run/repeat-body.ts'
import type { StepView } from '../../src/studio/run/run-view.ts'
import { emptyOf, kindOf, resolveSchema } from '../../src/studio/tool/schema-value.ts'

describe('a comparison of two texts', () => {
  test('keeps the lines that both have, and says which were added and removed', () => {
    expect(diffLines('a\nb\nc\nd', 'a\nx\nc\ny\nd')).toEqual([
      { kind: 'same', text: 'a' },
      { kind: 'removed', text: 'b' },
      { kind: 'added', text: 'x' },
      { kind: 'same', text: 'c' },
      { kind: 'added', text: 'y' },
      { kind: 'same', text: 'd' },
    ])
  })

  test('of equal texts has no change', () => {
    expect(diffLines('a\nb', 'a\nb').map(({ kind }) => kind)).toEqual(['same', 'same'])
  })
})

describe('a form that is made from a schema', () => {
  const root = {
    type: 'object',
    properties: {
      guests: { type: 'array', items: { $ref: '#/$defs/guest' } },
      room: { enum: ['single', 'double'] },
      nights: { type: 'integer', default: 1 },
      breakfast: { type: 'boolean' },
      pay: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      note: { type: ['string', 'null'] },
    },
    required: ['guests', 'nights', 'breakfast', 'room'],
    $defs: { guest: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
  }

  test('begins with the defaults of required fields, and leaves the other fields empty', () => {
    expect(emptyOf(root, root)).toEqual({ guests: [], nights: 1, breakfast: false })
  })

  test('has the field that fits each schema', () => {
    const kinds = Object.entries(root.properties).map(([name, each]) => [name, kindOf(resolveSchema(each, root))])
    expect(Object.fromEntries(kinds)).toEqual({
      guests: 'list',
      room: 'choice',
      nights: 'integer',
      breakfast: 'boolean',
      pay: 'variants',
      note: 'text',
    })
    expect(kindOf(resolveSchema(root.properties.guests.items, root))).toBe('object')
    expect(kindOf({})).toBe('json')
  })

  test('does not follow a schema that refers to itself without end', () => {
    const loop = { $ref: '#' }
    expect(kindOf(resolveSchema(loop, loop))).toBe('json')
  })

  test('fills in a bounded part of a schema that leads to ever more of them', () => {
    const names = Array.from({ length: 50 }, (_, index) => `part${index}`)
    const wide = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])),
      required: names,
    }
    expect(JSON.stringify(emptyOf(wide, wide)).match(/part/g)?.length).toBeLessThan(200)
    const all = { allOf: names.map(() => ({ $ref: '#' })), type: 'object' }
    expect(kindOf(resolveSchema(all, all))).toBe('json')
  })
})

describe('the turns of a conversation', () => {
  test('are made of the messages of each run, with the outcome of each call', () => {
    const run = { id: 'run_2', status: 'completed', created: 5 } as const
    const citations = [{ url: 'https://yr.example/oslo' }]
    const turns = turnsOf(
      [
        { position: 1, run: 'run_1', message: { role: 'user', content: 'Copied' } },
        { position: 10, run: 'run_2', message: { role: 'user', content: 'Hello?' } },
        {
          position: 11,
          run: 'run_2',
          message: { role: 'assistant', content: '', calls: [{ callId: 'a', tool: 't', arguments: '{}' }] },
        },
        { position: 12, run: 'run_2', message: { role: 'tool', callId: 'a', tool: 't', ok: false, content: [] } },
        { position: 13, run: 'run_2', message: { role: 'assistant', content: 'Hi.', citations } },
      ],
      [run],
    )
    const place = turns.map(({ run, question, from, last, canFork, summary }) => [
      run,
      question,
      from,
      last,
      canFork,
      summary,
    ])
    expect(place).toEqual([
      ['run_1', 'Copied', 1, 1, true, undefined],
      ['run_2', 'Hello?', 10, 13, true, run],
    ])
    const steps = turns[1]?.steps.map((step) => [
      step.text,
      step.calls.map(({ id, state }) => `${id} ${state}`),
      step.citations,
    ])
    expect(steps).toEqual([
      ['', ['a failed'], undefined],
      ['Hi.', [], citations],
    ])
  })
})

describe('a text of a model or a tool', () => {
  test('shows the characters that hide or turn text as escapes', () => {
    expect(visible('pay\u202e100\u0000 to\u200b Ada\n')).toBe('pay\\u202e100\\u0000 to\\u200b Ada\n')
  })

  test('is cut to a hint of the plain arguments of a call', () => {
    expect(argumentHint('{"place":"Paris","days":2,"more":{"x":1}}')).toBe('Paris, 2')
    expect(argumentHint('not JSON')).toBe('')
  })
})

test('a time span is written in the unit that fits it', () => {
  expect([42, 1234, 65_000, 7_380_000, 200_000_000].map(duration)).toEqual([
    '42 ms',
    '1.2 s',
    '1 min 5 s',
    '2 h 3 min',
    '2 days',
  ])
})

test.each([
  [999.6, '1.0 s'],
  [59_700, '1 min 0 s'],
  [3_599_800, '1 h 0 min'],
  [86_399_000, '1 day'],
  [5 * 3_600_000 + 120_000, '5 h 2 min'],
])('a time span of %i ms is %s: no part of it is 60', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

describe('a case for eval', () => {
  const call = (tool: string, input: string, more: object = {}) =>
    ({ id: tool, tool, arguments: input, state: 'ok', attempts: [], waits: [], ...more }) as const

  const step = (number: number, calls: StepView['calls']): StepView => {
    const rest = { attempt: 1, text: '', reasoning: '', isAnswered: true, rejected: [], lostAttempts: [], pauses: [] }
    return { number, calls, ...rest }
  }

  test('has the question, the calls and those of programs, their results, and how the answer begins', () => {
    const steps = [
      step(1, [
        call('run_code', '{"code":"…"}', { isProgram: true }),
        call('stock', '{"sku":"A"}', { parent: 'run_code', structured: { count: 3 } }),
      ]),
      step(2, [call('refund', '', { content: [{ type: 'text', text: 'x'.repeat(5000) }] }), call('now', '{"a"')]),
    ]
    expect(evalCase({ question: 'How many A?', steps, answer: `**3** of A. ${'More. '.repeat(20)}\nBye` })).toEqual({
      question: 'How many A?',
      calls: [{ tool: 'stock', arguments: { sku: 'A' } }, { tool: 'refund' }, { tool: 'now' }],
      results: { stock: { count: 3 } },
      answer: [expect.stringMatching(/^3 of A\. More\. [^…]+$/)],
    })
  })

  test('of a turn without calls and without an answer has neither results nor checks of the answer', () => {
    expect(evalCase({ question: 'Hi', steps: [], answer: '' })).toEqual({ question: 'Hi', calls: [] })
  })
})

test('the request of a step is repeated with the sampling fields that a run takes, and calls no tool', () => {
  const inputSchema = { type: 'object' }
  const tools = [{ name: 'book', description: 'Books.', inputSchema, inputExamples: [{}], version: '1', hash: 'h' }]
  const body = repeatBody({
    ...{ run: 'run_1', step: 1, model: 'openai/test', historyLength: 0 },
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
    tools: tools.map((tool) => ({ ...tool, annotations: {} })),
    sampling: { temperature: 0.5, stop: 'END', logit_bias: {} },
  })
  expect(JSON.parse(JSON.stringify(body))).toEqual({
    ...{ model: 'openai/test', execution: 'caller', system: 'Be brief.', tools: [] },
    sampling: { temperature: 0.5, stop: ['END'] },
    clientTools: [{ name: 'book', description: 'Books.', inputSchema, inputExamples: [{}] }],
    input: [{ role: 'user', content: 'Hi' }],
  })
})
