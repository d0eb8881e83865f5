import { expect, test } from 'vitest'
import { decodeAgUi } from '../../../../src/wire/client/ag-ui/request.ts'

const PLACE = { threadId: 'thread-1', runId: 'run-1' }
const user = (content: unknown) => ({ id: 'u', role: 'user', content })
const assistant = (rest: object = { content: 'Yes?' }) => ({ id: 'a', role: 'assistant', ...rest })
const input = (messages: object[], rest: object = {}) => ({
  ...PLACE,
  state: {},
  messages,
  tools: [],
  context: [],
  forwardedProps: {},
  ...rest,
})

function decoded(body: unknown): object {
  const result = decodeAgUi(body)
  if (!result.ok) throw new Error(result.error.message)
  return result.request
}

test('the new messages are those after the last answer, with instructions and context', () => {
  const messages = [
    { id: 's', role: 'system', content: 'Be kind.' },
    user('First'),
    assistant(),
    { id: 'x', role: 'activity', activityType: 'PLAN', content: { any: 'thing' } },
    user([
      { type: 'text', text: 'Look' },
      { type: 'image', source: { type: 'data', value: 'AA==', mimeType: 'image/png' } },
      { type: 'document', source: { type: 'data', value: 'BB==', mimeType: 'application/pdf' } },
      { type: 'image', source: { type: 'url', value: 'https://example.com/a.png' } },
    ]),
  ]
  const body = input(messages, {
    protocolVersion: '1.0',
    context: [{ description: 'Page', value: 'Orders' }],
    tools: [{ name: 'pick', description: 'Picks', parameters: { type: 'object', required: ['a'] } }, { name: 'bare' }],
    forwardedProps: { other: 1, edgecall: { model: 'test/a', tools: ['clock'], context: { zone: 'UTC' } } },
  })
  expect(decoded(body)).toEqual({
    ...PLACE,
    protocolVersion: '1.0',
    answers: {},
    parameters: {
      input: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image', mediaType: 'image/png', data: 'AA==' },
            { type: 'file', mediaType: 'application/pdf', data: 'BB==' },
            { type: 'image', mediaType: 'image/*', url: 'https://example.com/a.png' },
          ],
          display: { id: 'u' },
        },
      ],
      system: 'Page: Orders\n\nBe kind.',
      model: 'test/a',
      tools: ['clock'],
      context: { zone: 'UTC' },
      clientTools: [
        { name: 'pick', description: 'Picks', inputSchema: { type: 'object', properties: {}, required: ['a'] } },
        { name: 'bare', description: '', inputSchema: { type: 'object', properties: {} } },
      ],
    },
  })
})

test('a part that no model accepts is refused, not dropped', () => {
  const messages = [
    user([
      { type: 'text', text: 'Look' },
      { type: 'hologram', of: 'tomorrow' },
    ]),
  ]
  expect(decodeAgUi(input(messages))).toMatchObject({
    ok: false,
    error: { message: 'messages[0].content[1]: is neither text nor a file as data or under an https: URL.' },
  })
})

test('results and decisions become answers by call id', () => {
  const messages = [
    user('Go'),
    assistant({ toolCalls: [] }),
    { id: 't1', role: 'tool', toolCallId: 'a', content: '{"of":1}' },
    { id: 't2', role: 'tool', toolCallId: 'b', content: '', error: 'It broke.' },
  ]
  const resume = [
    { interruptId: 'c', status: 'resolved', payload: { approved: true } },
    { interruptId: 'd', status: 'resolved', payload: { approved: false, reason: 'No.' } },
    { interruptId: 'e', status: 'cancelled' },
    { interruptId: 'f', status: 'resolved', payload: true },
    { interruptId: 'g', status: 'resolved', payload: 'true' },
  ]
  expect(decoded(input(messages, { resume }))).toEqual({
    ...PLACE,
    answers: {
      a: { result: '{"of":1}', ok: true },
      b: { result: 'It broke.', ok: false },
      c: { decision: 'approve' },
      d: { decision: 'reject', reason: 'No.' },
      e: { decision: 'reject' },
      f: { decision: 'approve' },
      g: { decision: 'reject' },
    },
  })
})

test.each([
  [input([]), 'messages: must contain a new user message or the result of a call.'],
  [input([user('Hi'), assistant()]), 'messages: must contain a new user message or the result of a call.'],
  [{ ...input([user('Hi')]), threadId: 'a/b' }, 'threadId: must match ^[A-Za-z0-9_-]{1,64}$.'],
  [input([user(7)]), 'messages[0].content: must be a text or a list of parts.'],
  [input([user('Hi')], { tools: [{ name: 'a' }, { name: 'a' }] }), 'tools[1].name: is used twice.'],
  [
    input([user('Hi')], { forwardedProps: { edgecall: { limits: { steps: 0 } } } }),
    'forwardedProps.edgecall.limits.steps: must be a whole number from 1.',
  ],
])('an input like %j is refused', (body, message) => {
  const result = decodeAgUi(body)
  expect(result.ok ? undefined : result.error.message).toBe(message)
})
