import { describe, expect, test } from 'vitest'
import type { ToolContext } from '../../src/contract/tool.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { dataOf, type KeptEdge, keptEdge } from './kept-edge.ts'

const requestedSchema = { type: 'object', properties: { count: { type: 'integer' } } }
const question = { method: 'elicitation/create', params: { message: 'How many?', requestedSchema } }
const page = { method: 'elicitation/create', params: { mode: 'url', message: 'Sign in', url: 'https://a.example.com' } }
const sample = { method: 'sampling/createMessage', params: { messages: [] } }

/** A tool that asks these, and returns what it gets. */
function needy(requests: Record<string, object>, contexts: ToolContext[] = []) {
  return tool('order', (_args, context) => {
    contexts.push(context)
    if (context.input) return JSON.stringify(context.input)
    const error = { code: 'input_required', message: 'Nobody can be asked.' }
    return { ok: false, error, input: { requests: requests as never, state: 'half' } }
  })
}

const calling = ask(['order'])
const RUN = { input: 'Order some', tools: ['order'] }

async function read(response: Response): Promise<Record<string, any>> {
  return (await response.json()) as Record<string, any>
}

/** Starts a run that waits for a person. Returns its id and that of its call. */
async function startRun(edge: KeptEdge): Promise<{ id: string; call: string }> {
  await edge.post('/conversations', { id: 'one' })
  const response = await edge.post('/conversations/one/runs', RUN)
  expect(response.status).toBe(202)
  const { id, calls } = await read(response)
  return { id, call: calls[0].id }
}

/** Resolves once the run has ended: its events end with it. */
async function ended(edge: KeptEdge, id: string): Promise<void> {
  await (await edge.fetch(`/conversations/one/runs/${id}/events`)).text()
}

describe('a tool that asks a person, in a conversation', () => {
  test('has the run wait for a decision, and is called again with what was filled in', async () => {
    const contexts: ToolContext[] = []
    const edge = keptEdge({ script: [calling, say('Ordered.')], tools: [needy({ question, page }, contexts)] })
    const { id, call } = await startRun(edge)
    const url = `/conversations/one/runs/${id}/calls/${call}`
    expect(await read(await edge.fetch(url))).toMatchObject({
      tool: 'order',
      input: { requests: { question, page }, state: 'half' },
    })
    const answer = { decision: 'approve', input: { question: { count: 3 } } }
    await edge.post(url, answer)
    await ended(edge, id)
    const record = await read(await edge.fetch(`/conversations/one/runs/${id}`))
    expect(record).toMatchObject({ status: 'completed', answer: 'Ordered.' })
    expect(contexts.map(({ attempt, asks, input }) => ({ attempt, asks, input }))).toEqual([
      { attempt: 1, asks: ['elicitation/create'], input: undefined },
      {
        attempt: 2,
        asks: ['elicitation/create'],
        input: {
          responses: { question: { action: 'accept', content: { count: 3 } }, page: { action: 'accept' } },
          state: 'half',
        },
      },
    ])
  })

  test('is not called again if the person refuses', async () => {
    const contexts: ToolContext[] = []
    const edge = keptEdge({ script: [calling, say('Then not.')], tools: [needy({ question }, contexts)] })
    const { id, call } = await startRun(edge)
    await edge.post(`/conversations/one/runs/${id}/calls/${call}`, { decision: 'reject', reason: 'Too dear.' })
    await ended(edge, id)
    expect(contexts).toHaveLength(1)
    expect(JSON.stringify(edge.requests[1]?.messages)).toContain('A person refused this call: Too dear.')
  })

  test('fails if it asks for what no person can give', async () => {
    const edge = keptEdge({ script: [calling, say('Not possible.')], tools: [needy({ question, sample })] })
    await edge.post('/conversations', { id: 'one' })
    expect(await read(await edge.post('/conversations/one/runs', RUN))).toMatchObject({
      answer: 'Not possible.',
      calls: [{ ok: false }],
    })
  })

  test('accepts no answer of another form', async () => {
    const edge = keptEdge({ script: [calling], tools: [needy({ question })] })
    const { id, call } = await startRun(edge)
    const answer = { decision: 'approve', input: { question: 3 } }
    expect((await edge.post(`/conversations/one/runs/${id}/calls/${call}`, answer)).status).toBe(400)
  })
})

/** The ways in which clients show what a call asks for, and answer it. */
describe('what a tool asks a person', () => {
  const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Order some' }] }
  const acceptance = { question: { action: 'accept', content: { count: 3 } } }
  const filledIn = { question: { count: 3 } }

  async function chunksOf(response: Response): Promise<Record<string, any>[]> {
    expect(response.status).toBe(200)
    return dataOf(await response.text()) as Record<string, any>[]
  }

  test('is an interrupt of AG-UI with the schema of the answer, which its payload brings', async () => {
    const contexts: ToolContext[] = []
    const edge = keptEdge({ script: [calling, say('Ordered.')], tools: [needy({ question, page }, contexts)] })
    const body = { threadId: 'one', runId: 'a', tools: [], context: [], state: {}, forwardedProps: {} }
    const messages = [{ id: 'u', role: 'user', content: 'Order some' }]
    const first = await chunksOf(await edge.post('/ag-ui', { ...body, messages, protocolVersion: '1.0' }))
    const { outcome } = first.at(-1)!
    const [{ id }] = outcome.interrupts
    expect(outcome).toEqual({
      type: 'interrupt',
      interrupts: [
        {
          id,
          toolCallId: id,
          reason: 'input_required',
          message: 'How many?\nSign in https://a.example.com',
          responseSchema: {
            type: 'object',
            properties: {
              approved: { type: 'boolean' },
              reason: { type: 'string' },
              input: { type: 'object', properties: { question: requestedSchema }, required: ['question'] },
            },
            required: ['approved'],
          },
        },
      ],
    })
    const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true, input: filledIn } }]
    await chunksOf(await edge.post('/ag-ui', { ...body, messages, resume }))
    expect(contexts[1]?.input?.responses).toEqual({ ...acceptance, page: { action: 'accept' } })
  })

  test('is a data part for useChat, to which the client adds the answers', async () => {
    const contexts: ToolContext[] = []
    const edge = keptEdge({ script: [calling, say('Ordered.')], tools: [needy({ question }, contexts)] })
    const first = await chunksOf(await edge.post('/chat', { id: 'one', messages: [user] }))
    const data = first.find(({ type }) => type === 'data-input')
    const toolCallId = String(data?.['data'].toolCallId)
    const questions = [{ name: 'question', message: 'How many?', schema: requestedSchema }]
    const part = { type: 'data-input', id: `${toolCallId}-input`, data: { toolCallId, toolName: 'order', questions } }
    expect(data).toEqual(part)
    const decided = { type: 'tool-order', toolCallId, state: 'approval-responded', approval: { approved: true } }
    const answeredPart = { ...part, data: { ...part.data, answers: filledIn } }
    const parts = [{ type: 'step-start' }, decided, answeredPart]
    const messageId = String(first[0]?.['messageId'])
    const messages = [user, { id: messageId, role: 'assistant', parts }]
    await chunksOf(await edge.post('/chat', { id: 'one', messageId, messages }))
    expect(contexts[1]?.input?.responses).toEqual(acceptance)
  })

  test('stands in the text of a chat completion that waits', async () => {
    const edge = keptEdge({ script: [calling, say('Ordered.')], tools: [needy({ question, page })] })
    const messages = [{ role: 'user', content: 'Order some' }]
    const response = await edge.post('/v1/chat/completions', { messages }, { 'x-conversation-id': 'one' })
    const { choices } = await read(response)
    expect(choices[0].message.content).toMatch(
      /^Waiting for approval of "order" \(it asks: How many\? Sign in https:\/\/a\.example\.com\)\. Decide by POST /,
    )
  })
})

test('a tool that asks a person outside of a conversation fails, and the model is told that nobody can be asked', async () => {
  const contexts: ToolContext[] = []
  const edge = keptEdge({ script: [calling, say('Sorry.')], tools: [needy({ question }, contexts)] })
  expect(await read(await edge.post('/runs', RUN))).toMatchObject({ answer: 'Sorry.' })
  expect(contexts[0]?.asks).toBeUndefined()
  expect(JSON.stringify(edge.requests[1]?.messages)).toContain('Nobody can be asked.')
})
