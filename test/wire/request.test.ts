import { describe, expect, test } from 'vitest'
import { decodeRunBody } from '../../src/wire/client/request.ts'

const hi = [{ role: 'user', content: 'Hi' }]

describe('the body of a run', () => {
  test('may have only a text', () => {
    expect(decodeRunBody({ input: 'Hi' })).toEqual({ ok: true, request: { input: hi } })
  })

  test('may have all fields of a run', () => {
    const body = {
      system: 'Be brief.',
      model: 'openai/probe',
      tools: { add: ['clock'], remove: ['weather'] },
      clientTools: [{ name: 'pick', description: 'Picks.', inputSchema: { type: 'object', properties: {} } }],
      context: { tenantId: 't1' },
      toolChoice: { tool: 'clock' },
      limits: {
        steps: 3,
        calls: 4,
        callsPerTool: 2,
        callMs: 10,
        runMs: 20,
        resultBytes: 30,
        concurrentCalls: 1,
        tokens: 9,
      },
      responseFormat: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
      onBusy: 'reject',
      execution: 'caller',
      rounds: 'all',
    }
    expect(decodeRunBody({ input: 'Hi', ...body })).toEqual({ ok: true, request: { input: hi, ...body } })
  })

  test.each(['constructor', 'prototype', '__proto__'])('limits a tool of any name: %s', (name) => {
    const limits = JSON.parse(`{"tools":{"${name}":1}}`)
    const decoded = decodeRunBody({ input: 'Hi', limits })
    expect(JSON.stringify(decoded.ok && decoded.request.limits)).toBe(JSON.stringify(limits))
    expect(decodeRunBody({ input: 'Hi', limits: JSON.parse(`{"tools":{"${name}":0}}`) })).toMatchObject({
      error: { path: `limits.tools.${name}`, message: `limits.tools.${name}: must be a whole number from 1.` },
    })
  })

  test('has messages of our types, with optional parts', () => {
    const input = [
      { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }] },
      { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: 'clock', arguments: '{}' }] },
      { role: 'tool', callId: 'c1', content: 'noon' },
    ]
    expect(decodeRunBody({ input, clientTools: [{ name: 'pick' }], tools: [] })).toEqual({
      ok: true,
      request: {
        tools: [],
        clientTools: [{ name: 'pick', description: '', inputSchema: { type: 'object', properties: {} } }],
        input: [
          ...input.slice(0, 2),
          { role: 'tool', callId: 'c1', tool: 'clock', ok: true, content: [{ type: 'text', text: 'noon' }] },
        ],
      },
    })
  })

  test.each([
    ['text', '', 'The body: expected Object, received "text".'],
    [{}, 'input', 'input: is required.'],
    [{ input: '' }, 'input', 'input: must not be empty.'],
    [{ input: [] }, 'input', 'input: must not be empty.'],
    [{ input: 7 }, 'input', 'input: expected string or Array, received 7.'],
    [
      { input: 'Hi', toolChoice: 'any' },
      'toolChoice',
      'toolChoice: expected Object or ("auto" | "none" | "required"), received "any".',
    ],
    [{ input: 'Hi', tools: 'clock' }, 'tools', 'tools: expected Array or Object, received "clock".'],
    [
      { input: 'Hi', sampling: { temperature: 'hot' } },
      'sampling.temperature',
      'sampling.temperature: expected number, received "hot".',
    ],
    [{ input: 'Hi', sampling: { top_p: 1 } }, 'sampling.top_p', 'sampling.top_p: there is no such field.'],
    [{ input: 'Hi', sistem: '' }, 'sistem', 'sistem: there is no such field.'],
    [{ input: 'Hi', limits: { steps: 0 } }, 'limits.steps', 'limits.steps: must be a whole number from 1.'],
    [{ input: 'Hi', limits: { steps: 1.5 } }, 'limits.steps', 'limits.steps: must be a whole number from 1.'],
    [{ input: 'Hi', limits: { tools: ['a'] } }, 'limits.tools', 'limits.tools: expected an object'],
    [{ input: 'Hi', limits: { step: 1 } }, 'limits.step', 'limits.step: there is no such field.'],
    [{ input: 'Hi', tools: [''] }, 'tools[0]', 'tools[0]: must not be empty.'],
    [{ input: 'Hi', context: [] }, 'context', 'context: must be an object.'],
    [{ input: 'Hi', context: { a: 'é'.repeat(8192) } }, 'context', 'context: may have at most 16 KiB of JSON.'],
    [
      { input: 'Hi', clientTools: [{ name: 'a', inputSchema: { type: 'array' } }] },
      'clientTools[0].inputSchema',
      'clientTools[0].inputSchema: must have type "object".',
    ],
    [
      { input: 'Hi', clientTools: [{ name: 'a' }, { name: 'a' }] },
      'clientTools[1].name',
      'clientTools[1].name: is used twice.',
    ],
    [{ input: [{ role: 'user' }] }, 'input[0].content', 'input[0].content: is required.'],
    [
      { input: [{ role: 'tool', callId: 'c', content: 'x' }] },
      'input[0].callId',
      'input[0].callId: the call "c" answers no call of the preceding message.',
    ],
    [
      { input: 'Hi', onBusy: 'wait' },
      'onBusy',
      'onBusy: expected ("queue" | "reject" | "interrupt" | "steer"), received "wait".',
    ],
    [{ input: 'Hi', model: ['x'.repeat(99)] }, 'model', 'model: expected string, received Array.'],
    [{ input: 'Hi', rounds: 'x'.repeat(99) }, 'rounds', `rounds: expected "all", received "${'x'.repeat(59)}….`],
  ])('is refused: %j', (body, path, message) => {
    const missing = message.endsWith('is required.')
    expect(decodeRunBody(body)).toEqual({ ok: false, error: { path, message, missing } })
  })
})
