import { afterEach, describe, expect, test, vi } from 'vitest'
import { failure } from '../../src/contract/tool.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { tool } from '../fixtures/play.ts'
import { controlledEdge } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read'
const SECRET = 'sk-test/0123456789+ab"c'
const SECRETS = { OPENAI_API_KEY: SECRET, WEBHOOK_SECRET: 'whsec_c2VjcmV0IG9mIHRoZSBlZGdl' }
const FORMS = {
  plain: SECRET,
  JSON: JSON.stringify(SECRET).slice(1, -1),
  URL: encodeURIComponent(SECRET),
  hexadecimal: Buffer.from(SECRET).toString('hex'),
  base64: Buffer.from(SECRET).toString('base64'),
  'base64 after a byte': Buffer.from(`x${SECRET}yz`).toString('base64'),
}
/** What is left of any form must not contain this much of it. */
const core = (text: string) => text.slice(3, -5)

afterEach(() => vi.restoreAllMocks())

/** An edge whose model streams these answers, one for each step. */
function stage(answers: readonly (readonly ModelEvent[])[], vars: Record<string, unknown> = SECRETS) {
  const requests: unknown[] = []
  const remainingAnswers = [...answers]
  const edge = controlledEdge({
    workers: {
      TOOL_ECHO: [
        tool('echo', (input, _context, control) => {
          const { text = SECRET } = input as { text?: string }
          void control.progress({ message: `at ${text}`, data: { text } })
          return { ok: true, content: [{ type: 'text', text: `has ${text}` }], structured: { [text]: [text] } }
        }),
        tool('throw', () => {
          throw new TypeError(`threw ${SECRET}`)
        }),
        tool('fail', () => failure('broken', `is ${SECRET}`, `detail ${SECRET}`)),
      ],
    },
    model: {
      name: 'test/scripted',
      requests: [],
      stream: async function* (request: unknown) {
        requests.push(request)
        yield* remainingAnswers.shift() ?? []
      },
    },
    vars: { ...vars, LOG: 'runs', INCLUDE_CONTENT: 'true' },
    keys: [KEY],
  })
  return { ask: edge.as(KEY), requests }
}

const FINISH: ModelEvent = { type: 'finish', finish: 'stop' }
const one = (name: string): ModelEvent[] => [
  { type: 'call', index: 0, tool: name, arguments: '{}' },
  { type: 'finish', finish: 'tool_calls' },
]

describe('a secret of the edge', () => {
  test.each(Object.entries(FORMS))('in the %s form never leaves a model that says it in pieces', async (_, form) => {
    const characters = `Your key is ${form}, sk-tes as ever: sk-`.split('')
    const { ask } = stage([[...characters.map((text): ModelEvent => ({ type: 'text', text })), FINISH]])
    const { body } = await ask('/runs', { json: { input: 'Hi' }, headers: { accept: 'text/event-stream' } })
    const events = String(body)
      .split('\n')
      .flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
    const streamed = events.flatMap(({ type, text }) => (type === 'text.delta' ? [text] : [])).join('')
    expect(streamed).toMatch(/^Your key is .*\[redacted\].*, sk-tes as ever: sk-$/)
    expect(events.at(-1).answer).toBe(streamed)
    expect(body).not.toContain(core(form))
  })

  test('never reaches a tool, a model, a client, an event or a log', async () => {
    const lines: string[] = []
    vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line))
    vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line))
    const args = JSON.stringify({ text: SECRET })
    const { ask, requests } = stage([
      [
        { type: 'reasoning', text: `I know ${SECRET.slice(0, 9)}` },
        { type: 'reasoning', text: SECRET.slice(9) },
        ...args.split('').map((text, at): ModelEvent => ({
          ...{ type: 'call.delta', index: 0, arguments: text },
          ...(at === 0 && { tool: 'echo' }),
        })),
        { type: 'call', index: 0, tool: 'echo', arguments: args },
        { type: 'finish', finish: 'tool_calls', opaque: { thinking: `of ${SECRET}` } as never },
      ],
      one('echo'),
      one('fail'),
      one('throw'),
      [{ type: 'error', error: { code: 'model_refused', message: `bad key ${SECRET}`, retryable: false } }],
    ])
    const headers = { accept: 'text/event-stream' }
    const { body } = await ask('/runs', { json: { input: 'Hi' }, headers })
    const everything = [body, JSON.stringify(requests), ...lines].join('\n')
    expect(requests).toHaveLength(5)
    expect(everything.match(/\[redacted\]/g)?.length).toBeGreaterThan(10)
    for (const form of Object.values(FORMS)) expect(everything).not.toContain(form)
  })

  test('that is no longer than a word is not looked for, and other texts stay as they are', async () => {
    const text = 'Nothing of it: sk-test, whsec_c2Vj and secret.'
    const { ask } = stage([[{ type: 'text', text }, FINISH]], { OPENAI_API_KEY: 'secret', SOME_TOKEN: '' })
    expect((await ask('/runs', { json: { input: 'Hi' } })).body.answer).toBe(text)
  })
})
