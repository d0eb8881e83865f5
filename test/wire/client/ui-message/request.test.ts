import { describe, expect, test } from 'vitest'
import { decodeUiChat } from '../../../../src/wire/client/ui-message/request.ts'

const user = (...parts: object[]) => ({ id: 'm1', role: 'user', parts })
const assistant = (...parts: object[]) => ({ id: 'run_1', role: 'assistant', parts })
const text = (text: string) => ({ type: 'text', text })
const chat = (messages: object[], rest: object = {}) => ({ id: 'chat-1', trigger: 'submit-message', messages, ...rest })

function decoded(body: unknown): object {
  const result = decodeUiChat(body)
  if (!result.ok) throw new Error(result.error.message)
  return result.request
}

function faultOf(body: unknown): string | undefined {
  const result = decodeUiChat(body)
  return result.ok ? undefined : result.error.message
}

describe('a new message of useChat', () => {
  test('comes after the last answer', () => {
    const messages = [
      user(text('First')),
      assistant({ type: 'step-start' }, { ...text('One.'), state: 'done' }),
      user(
        { ...text('Look'), providerMetadata: {} },
        { type: 'file', mediaType: 'image/png', filename: 'a.png', url: 'data:image/png;base64,AA==' },
        { type: 'file', mediaType: 'application/pdf', url: 'data:application/pdf;base64,BB==' },
        { type: 'data-note', data: { any: 'thing' } },
      ),
    ]
    expect(decoded(chat(messages))).toEqual({
      conversation: 'chat-1',
      answers: {},
      parameters: {
        input: [
          {
            role: 'user',
            content: [
              text('Look'),
              { type: 'image', mediaType: 'image/png', data: 'AA==' },
              { type: 'file', mediaType: 'application/pdf', data: 'BB==' },
            ],
            display: { id: 'm1', names: { 1: 'a.png' } },
          },
        ],
      },
    })
  })

  test('may have the options of a native run', () => {
    const edgecall = { model: 'test/a', tools: ['clock'], clientTools: [{ name: 'pick' }], system: 'Be kind' }
    expect(decoded(chat([user(text('Hi'))], { edgecall, version: 5 }))).toMatchObject({
      version: 5,
      parameters: { ...edgecall, clientTools: [{ name: 'pick', description: '' }] },
    })
  })
})

test('a regenerate request names a message or means the last answer', () => {
  const repeat = { trigger: 'regenerate-message' }
  const messages = [user(text('Hi'))]
  expect(decoded(chat(messages, repeat))).toEqual({ conversation: 'chat-1', answers: {}, regenerate: '', follows: '' })
  expect(decoded(chat(messages, { ...repeat, messageId: 'run_1' }))).toMatchObject({ regenerate: 'run_1' })
})

test('an edited message of the user follows the last answer before it', () => {
  const history = [user(text('Hi')), { ...assistant(text('Hello.')), id: 'run_1' }]
  const edited = { messageId: 'm1' }
  expect(decoded(chat([user(text('Hey'))], edited))).toMatchObject({ follows: '', parameters: {} })
  expect(decoded(chat([...history, user(text('Bye'))], edited))).toMatchObject({ follows: 'run_1', parameters: {} })
  expect(decoded(chat([...history, user(text('Bye'))]))).not.toHaveProperty('follows')
})

describe('answers of useChat', () => {
  test('are for the calls of the last step', () => {
    const part = (toolCallId: string, rest: object) => ({ type: 'tool-pick', toolCallId, input: {}, ...rest })
    const messages = [
      user(text('Go')),
      assistant(
        { type: 'step-start' },
        part('old', { state: 'output-available', output: 'old' }),
        { type: 'step-start' },
        text('Shall I?'),
        part('a', { state: 'approval-responded', approval: { id: 'a', approved: true } }),
        part('b', { state: 'approval-responded', approval: { id: 'b', approved: false, reason: 'No.' } }),
        part('c', { state: 'output-available', output: { of: 1 } }),
        part('d', { state: 'output-available', output: 'text' }),
        { ...part('e', { state: 'output-error', errorText: 'It broke.' }), type: 'dynamic-tool', toolName: 'pick' },
        part('f', { state: 'output-available', output: 'ours', providerExecuted: true }),
        part('g', { state: 'input-available' }),
        part('h', { state: 'output-available' }),
      ),
    ]
    expect(decoded(chat(messages, { messageId: 'run_1' }))).toEqual({
      conversation: 'chat-1',
      answers: {
        a: { decision: 'approve' },
        b: { decision: 'reject', reason: 'No.' },
        c: { result: '{"of":1}', ok: true, structured: { of: 1 } },
        d: { result: 'text', ok: true },
        e: { result: 'It broke.', ok: false },
        h: { result: 'null', ok: true, structured: null },
      },
    })
  })

  test('to unknown calls are an error', () => {
    expect(faultOf(chat([user(text('Go')), assistant(text('Done.'))]))).toBe(
      'messages[1]: must contain a new user message or the result of a call.',
    )
  })
})

test.each([
  [chat([]), 'messages: must not be empty.'],
  [{ messages: [user(text('Hi'))] }, 'id: is required.'],
  [{ ...chat([user(text('Hi'))]), id: 'a/b' }, 'id: must match ^[A-Za-z0-9_-]{1,64}$.'],
  [chat([user()]), 'messages[0].parts: has neither text nor files.'],
  [
    chat([user({ type: 'file', mediaType: 'image/png', url: 'http://example.com/a.png' })]),
    'messages[0].parts[0].url: must be an https: URL or a base64 data: URL.',
  ],
  [chat([user(text('Hi'))], { edgecall: { tols: [] } }), 'edgecall.tols: there is no such field.'],
])('a body like %j is refused', (body, message) => {
  expect(faultOf(body)).toBe(message)
})
