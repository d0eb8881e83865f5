import { HttpAgent, type RunAgentInput } from '@ag-ui/client'
import { DefaultChatTransport } from 'ai'
import { expect, test } from 'vitest'
import { ask, say, tool } from '../fixtures/play.ts'
import { Chat, partsOf } from './chat.ts'
import { type ServedEdge, servedEdge } from './served-edge.ts'

const script = [ask(['clock']), say('Noon.')]
const tools = [tool('clock', () => '12:00')]

/** An edge with the conversation `c`. */
async function served(): Promise<ServedEdge> {
  const edge = await servedEdge({ script, tools })
  expect((await edge.post('/conversations', { id: 'c' })).status).toBe(201)
  return edge
}

/** The one run of the conversation, as its own route tells it. */
async function messagesOf(edge: ServedEdge, format: string): Promise<string> {
  const runs: { id: string }[] = await (await edge.fetch(`${edge.url}/conversations/c/runs`)).json()
  const id = runs[0]?.id
  const answer = await edge.fetch(`${edge.url}/conversations/c/runs/${id}/events?format=${format}`)
  expect(answer.headers.get('x-run-id')).toBe(id)
  return answer.text()
}

test('a native run is streamed in the UI message format on request, also when it is read later', async () => {
  const edge = await served()
  let body = ''
  const chat = new Chat({
    transport: new DefaultChatTransport({
      api: `${edge.url}/conversations/c/runs?format=ui-message`,
      prepareSendMessagesRequest: () => ({ body: { input: 'What time is it?' } }),
      fetch: async (...request) => {
        const answer = await fetch(...request)
        body = await answer.clone().text()
        return answer
      },
    }),
  })
  await chat.sendMessage({ text: 'What time is it?' })
  expect(partsOf(chat.messages.at(-1))).toEqual([
    'step-start',
    ['tool-clock', 'output-available', '12:00'],
    'step-start',
    'Noon.',
  ])
  expect(await messagesOf(edge, 'ui-message')).toBe(body)
})

test('a native run is streamed as AG-UI events on request', async () => {
  const edge = await served()
  class Agent extends HttpAgent {
    protected override requestInit(input: RunAgentInput): RequestInit {
      return { ...super.requestInit(input), body: JSON.stringify({ input: 'What time is it?' }) }
    }
  }
  const agent = new Agent({ url: `${edge.url}/conversations/c/runs?format=ag-ui`, threadId: 'c' })
  const { newMessages } = await agent.runAgent()
  expect(newMessages.map(({ role, content }) => [role, content])).toEqual([
    ['assistant', undefined],
    ['tool', '12:00'],
    ['assistant', 'Noon.'],
  ])
  const types = [...(await messagesOf(edge, 'ag-ui')).matchAll(/^data: \{"type":"(\w+)"/gm)].map(([, type]) => type)
  expect([types[0], types.at(-1)]).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
})

test('a run without a conversation is streamed in another format on request', async () => {
  const edge = await servedEdge({ script, tools })
  const answer = await edge.post('/runs?format=ag-ui', { input: 'What time is it?' })
  expect(answer.headers.get('content-type')).toContain('text/event-stream')
  expect(await answer.text()).toContain('"delta":"Noon."')
})

test('an unknown format is refused before the run starts', async () => {
  const edge = await served()
  for (const path of ['/runs', '/conversations/c/runs', '/conversations/c/runs/r/regenerate']) {
    const answer = await edge.post(`${path}?format=toString`, { input: 'Hello' })
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_request', param: 'format' }])
  }
  expect(edge.requests).toEqual([])
})
