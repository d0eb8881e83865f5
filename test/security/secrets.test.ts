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
  base64url: Buffer.from(SECRET).toString('base64url'),
  'base64 over several lines': (
    Buffer.from(SECRET)
      .toString('base64')
      .match(/.{1,8}/g) ?? []
  ).join('\r\n'),
  'base64 of base64': Buffer.from(Buffer.from(SECRET).toString('base64')).toString('base64'),
  'base64 of hexadecimal': Buffer.from(Buffer.from(SECRET).toString('hex')).toString('base64'),
  HTML: SECRET.replaceAll('"', '&quot;').replaceAll('/', '&#x2F;').replaceAll('+', '&#43;'),
  'HTML of every character': SECRET.replace(/./g, (char) => `&#${char.charCodeAt(0)};`),
  'HTML of HTML': SECRET.replaceAll('"', '&amp;quot;'),
  'Unicode escapes': SECRET.replace(/./g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`),
  'Unicode escapes in JSON': SECRET.replace(/[^\w]/g, (char) => `\\\\u00${char.charCodeAt(0).toString(16)}`),
  'URL of every character': SECRET.replace(/./g, (char) => `%${char.charCodeAt(0).toString(16)}`),
  'URL of a URL': encodeURIComponent(encodeURIComponent(SECRET)),
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

/** Variables whose values are secrets, and how their values are set. */
const VARIABLES: Readonly<Record<string, string>> = {
  OPENAI_API_KEY: SECRET,
  OPENAI_APIKEY: SECRET,
  DBPASSWORD: SECRET,
  DB_PASSWD: SECRET,
  GITHUBTOKEN: SECRET,
  SIGNING_SECRETS: `another-secret-text, ${SECRET}`,
  AWS_CREDENTIALS: SECRET,
  OTLP_HEADERS: `x-team=edge,authorization=Bearer ${SECRET}`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${encodeURIComponent(SECRET)}`,
}

describe('a secret of the edge', () => {
  test.each(Object.entries(VARIABLES))('is the value of %s', async (name, value) => {
    const { ask } = stage([[{ type: 'text', text: `It is ${SECRET}.` }, FINISH]], { [name]: value })
    expect((await ask('/runs', { json: { input: 'Hi' } })).body.answer).toBe('It is [redacted].')
  })

  test('never is in the name of a tool that a model calls', async () => {
    const { ask, requests } = stage([
      [
        { type: 'call.delta', index: 0, tool: SECRET, arguments: '{}' },
        { type: 'call', index: 0, tool: SECRET, arguments: '{}' },
        { type: 'finish', finish: 'tool_calls' },
      ],
      [FINISH],
    ])
    const headers = { accept: 'text/event-stream' }
    const { body } = await ask('/runs', { json: { input: 'Hi' }, headers })
    const everything = `${body}${JSON.stringify(requests)}`
    expect(everything).toContain('[redacted]')
    expect(everything).not.toContain(JSON.stringify(SECRET).slice(1, -1))
  })

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
