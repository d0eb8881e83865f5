import { Validator } from '@cfworker/json-schema'
import { expect, test } from 'vitest'
import type { RunFact } from '../../src/contract/event.ts'
import type { Message } from '../../src/contract/message.ts'
import type { RunRequest } from '../../src/contract/run.ts'
import { timedFacts } from '../../src/contract/report.ts'
import { failure, type Tool } from '../../src/contract/tool.ts'
import { traceOf } from '../../src/contract/trace.ts'
import { NO_USAGE } from '../../src/contract/usage.ts'
import { encodeSpans } from '../../src/observe/otlp.ts'
import { spansOf } from '../../src/observe/spans.ts'
import convention from '../fixtures/gen-ai-convention.json' with { type: 'json' }
import { ask, play, requestOf, RUN_ID, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'

/** Spans as they are sent, checked against the names, types and schemas of OpenTelemetry's convention. */
interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

const TYPES: Readonly<Record<string, string>> = {
  stringValue: 'string',
  intValue: 'int',
  doubleValue: 'double',
  boolValue: 'boolean',
  arrayValue: 'string[]',
}

/** What of an attribute is not as the convention has it. */
function misfits({ key, value }: Attribute): readonly string[] {
  if (key.startsWith('edgecall.')) return []
  const types: Readonly<Record<string, string>> = convention.attributes
  const schemas: Readonly<Record<string, object>> = convention.schemas
  const values: Readonly<Record<string, readonly string[]>> = convention.values
  const [encoding = '', content] = Object.entries(value)[0] ?? []
  const type = TYPES[encoding]
  const schema = schemas[key]
  if (schema) {
    const { errors } = new Validator({ ...schema, $defs: convention.$defs }, '2020-12', false).validate(
      JSON.parse(String(content)),
    )
    return errors.map(({ instanceLocation, error }) => `${key} ${instanceLocation}: ${error}`)
  }
  if (types[key] !== type) return [`${key}: ${types[key] ?? 'not in the registry'}, not ${type}`]
  if (key !== 'gen_ai.provider.name' && values[key]?.includes(String(content)) === false)
    return [`${key}: ${String(content)}`]
  return []
}

interface Scene {
  readonly script: readonly Script[]
  readonly tools?: readonly Tool[]
  readonly request?: Partial<RunRequest>
}

async function attributesOf({ script, tools = [], request = {} }: Scene): Promise<readonly Attribute[]> {
  const trace = traceOf(null, RUN_ID, true)
  const traced = { ...request, ...(trace && { trace }) }
  // Each event a second after the one before: also times that are whole numbers of seconds.
  let now = 0
  const { events } = await play({ script, tools, request: traced, now: () => (now += 1000) })
  const timed = events.map((event, at) => ({ ...event, at: at * 1000 }))
  const definitions = () => tools.map(({ definition }) => definition)
  const run = { request: requestOf(traced), acceptedAt: 0, definitions, facts: timedFacts(timed) }
  return sentAttributes(spansOf(run, { includeContent: true }))
}

function sentAttributes(spans: ReturnType<typeof spansOf>): readonly Attribute[] {
  const body = encodeSpans(spans, 'edge', '1') as {
    resourceSpans: { scopeSpans: { spans: { attributes: Attribute[]; events: { attributes: Attribute[] }[] }[] }[] }[]
  }
  const all = body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
  return all.flatMap(({ attributes, events }) => [...attributes, ...events.flatMap((event) => event.attributes)])
}

const messages: readonly Message[] = [
  { role: 'user', content: [{ type: 'text', text: 'Add it.' }] },
  {
    role: 'user',
    content: [
      { type: 'image', mediaType: 'image/png', data: 'aGk=' },
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
    ],
  },
  {
    role: 'assistant',
    content: 'I add.',
    reasoning: 'Hm.',
    calls: [{ callId: 'c', tool: 'add', arguments: '{"a":2}' }],
  },
  { role: 'tool', callId: 'c', tool: 'add', ok: true, content: [{ type: 'text', text: '4' }] },
]
const usage = {
  inputTokens: 9,
  outputTokens: 5,
  cachedInputTokens: 3,
  cacheWriteTokens: 2,
  reasoningTokens: 2,
  cost: 1,
}
const add = tool('add', () => '3', { inputSchema: { type: 'object', properties: { a: { type: 'number' } } } })
const pick = { name: 'pick', description: 'Picks.', inputSchema: { type: 'object' } }

const SCENES: Readonly<Record<string, Scene>> = {
  'messages of every kind, instructions, tools, reasoning and usage': {
    script: [
      [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text: 'I add.' },
        { type: 'call', index: 0, tool: 'add', arguments: '{"a":1}' },
        { type: 'finish', finish: 'tool_calls', usage },
      ],
      say('Done.'),
    ],
    tools: [add],
    request: { input: messages, system: 'Be brief.', conversation: 'conv_1', clientTools: [pick] },
  },
  'calls that fail, are refused, or have arguments that are not JSON': {
    script: [ask(['broken', { a: 1 }], ['unknown'], ['add', 'a=1'], ['add', '[1]']), say('Done.')],
    tools: [add, tool('broken', () => failure('gone', 'It is gone.'))],
  },
  'an answer that is too long': {
    script: [
      [
        { type: 'text', text: 'It is' },
        { type: 'finish', finish: 'length' },
      ],
    ],
  },
  'an answer that was filtered': { script: [[{ type: 'finish', finish: 'content_filter' }]] },
  'a run at its limit': {
    script: [ask(['add']), say('Enough.')],
    tools: [add],
    request: { limits: { steps: 1 } as never },
  },
  'a run that waits for its caller': {
    script: [ask(['pick'])],
    request: { conversation: 'conv_1', clientTools: [pick] },
  },
}

test.each(Object.entries(SCENES))('%s are as the convention has them', async (_name, scene) => {
  const attributes = await attributesOf(scene)
  expect(attributes.length).toBeGreaterThan(5)
  expect(attributes.flatMap(misfits)).toEqual([])
})

test('the span events of a run are as the convention has them', () => {
  const facts: readonly RunFact[] = [
    { type: 'run.started', model: 'test/scripted', tools: [], at: 0 },
    { type: 'tools.added', tools: [add.definition] },
    { type: 'step.started', step: 1 },
    { type: 'model.retried', step: 1, code: 'model_rate_limited', status: 429, durationMs: 3 },
    { type: 'limit.reached', which: 'tokens' },
    { type: 'run.finished', status: 'failed', finish: 'error', answer: '', usage: NO_USAGE },
  ]
  const trace = traceOf(null, RUN_ID, true)
  const run = { request: { ...requestOf(), ...(trace && { trace }) }, acceptedAt: 0 }
  const timed = facts.map((event, at) => ({ event, at }))
  const attributes = sentAttributes(spansOf({ ...run, facts: timed }, { includeContent: true }))
  expect(attributes.map(({ key }) => key)).toContain('gen_ai.tool.definitions')
  expect(attributes.flatMap(misfits)).toEqual([])
})

test.each([
  [{ key: 'gen_ai.usage.cache_creation.input_tokens', value: { intValue: '1' } }, 'not in the registry'],
  [{ key: 'gen_ai.usage.input_tokens', value: { doubleValue: 1 } }, 'int, not double'],
  [{ key: 'gen_ai.operation.name', value: { stringValue: 'ask' } }, 'ask'],
  [{ key: 'gen_ai.input.messages', value: { stringValue: '[{"role":"user","content":"Hi"}]' } }, 'parts'],
  [{ key: 'gen_ai.output.messages', value: { stringValue: '[{"role":"a","parts":[{"type":"tool_call"}]}]' } }, 'name'],
  [{ key: 'gen_ai.system_instructions', value: { stringValue: '[{"type":"text"}]' } }, 'content'],
  [{ key: 'gen_ai.tool.definitions', value: { stringValue: '[{"name":"add"}]' } }, 'type'],
  [{ key: 'gen_ai.tool.call.result', value: { stringValue: '[]' } }, 'object'],
])('the check finds what is wrong with %j', (attribute, part) => {
  expect(misfits(attribute).join('\n')).toContain(part)
})
