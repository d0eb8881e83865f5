import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../fixtures/eventually.ts'
import { type ScriptedStage, startScripted } from './scripted-stage.ts'

let stage: ScriptedStage
beforeAll(async () => {
  stage = await startScripted({ OUTCOME_SECRET: 'a secret of the deployment' })
})
afterAll(() => stage?.close())

type Action = 'accept' | 'decline' | 'cancel'
/** Answers what a person is asked, as a person does. */
type Person = (message: string) => Promise<Action>

interface Connection {
  readonly call: (name: string, args?: Record<string, unknown>) => Promise<Record<string, unknown>>
  readonly names: () => Promise<string[]>
  readonly revision: string | undefined
  readonly close: () => Promise<void>
}

const address = () => new URL('/mcp', stage.url)
const requestInit = () => ({ headers: { authorization: `Bearer ${stage.key}` } })

/** `@modelcontextprotocol/client` as it is, which negotiates 2025-11-25. */
async function connectClient(person?: Person, fetch?: typeof globalThis.fetch): Promise<Connection> {
  const capabilities = person ? { elicitation: {} } : {}
  const client = new ModernClient({ name: 'test', version: '1' }, { capabilities })
  if (person) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({ action: await person(params.message) }))
  }
  await client.connect(new ModernTransport(address(), { requestInit: requestInit(), ...(fetch && { fetch }) }))
  return {
    call: (name, args = {}) => client.callTool({ name, arguments: args }),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    revision: client.getNegotiatedProtocolVersion(),
    close: () => client.close(),
  }
}

/** `@modelcontextprotocol/sdk` as it is. */
async function connectSdk(person?: Person, fetch?: typeof globalThis.fetch): Promise<Connection> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: person ? { elicitation: {} } : {} })
  if (person) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({ action: await person(params.message) }))
  }
  const transport = new StreamableHTTPClientTransport(address(), {
    requestInit: requestInit(),
    ...(fetch && { fetch }),
  })
  await client.connect(transport)
  return {
    call: (name, args = {}) => client.callTool({ name, arguments: args }),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    revision: transport.protocolVersion,
    close: () => client.close(),
  }
}

/** Loses the stream of the first call as soon as it has had a text; and the ids with which clients went on. */
function losing(text: string): { readonly fetch: typeof globalThis.fetch; readonly lastIds: string[] } {
  const lastIds: string[] = []
  let isLost = false
  const losingFetch: typeof globalThis.fetch = async (input, init) => {
    const lastId = new Headers(init?.headers).get('last-event-id')
    if (lastId !== null) lastIds.push(lastId)
    const response = await fetch(input, init)
    const isStream = response.headers.get('content-type')?.includes('event-stream')
    if (isLost || init?.method !== 'POST' || !isStream || !response.body) return response
    isLost = true
    const reader = response.body.getReader()
    let read = ''
    const pull = async (controller: ReadableStreamDefaultController) => {
      if (read.includes(text)) {
        await reader.cancel()
        return controller.error(new Error('The connection is lost.'))
      }
      const { value } = await reader.read()
      read += new TextDecoder().decode(value)
      controller.enqueue(value)
    }
    const { status, headers } = response
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { status, headers })
  }
  return { fetch: losingFetch, lastIds }
}

const REFUSAL = { content: [{ type: 'text', text: 'A person refused this call.' }], isError: true }
const RECEIPT = { content: [{ type: 'text', text: 'paid' }] }

const authorization = () => ({ authorization: `Bearer ${stage.key}` })

describe.each([
  ['@modelcontextprotocol/client', connectClient],
  ['@modelcontextprotocol/sdk', connectSdk],
])('%s', (_, connect) => {
  test.each<[Action, object]>([
    ['accept', RECEIPT],
    ['decline', REFUSAL],
    ['cancel', REFUSAL],
  ])('asks its person for an approval, who answers %s', async (action, result) => {
    const questions: string[] = []
    const { call, names, revision, close } = await connect(async (message) => {
      questions.push(message)
      return action
    })
    expect([revision, (await names()).includes('pays')]).toEqual(['2025-11-25', true])
    expect(await call('pays')).toEqual(result)
    expect(questions).toEqual(['Allow the call of "pays" with {}?'])
    // Other calls are not asked about.
    expect(await call('progresses')).toMatchObject({ content: [{ type: 'text', text: 'arrived' }] })
    expect(questions.length).toBe(1)
    await close()
  })

  test.each([
    ['before', 'id: '],
    ['after', 'elicitation/create'],
  ])('goes on with a stream that it loses %s the question, and is asked once', async (_when, text) => {
    const questions: string[] = []
    const { fetch, lastIds } = losing(text)
    const decision = Promise.withResolvers<Action>()
    const { call, close } = await connect(async (message) => {
      questions.push(message)
      return decision.promise
    }, fetch)
    const result = call('pays', { lost: text })
    await eventually(() => expect([lastIds.length, questions.length]).toEqual([1, 1]))
    decision.resolve('accept')
    expect(await result).toEqual(RECEIPT)
    expect([lastIds.length, questions.length]).toEqual([1, 1])
    // It was made once: the same call is another one.
    const next = call('pays', { lost: text })
    expect(await next).toEqual(RECEIPT)
    expect(questions.length).toBe(2)
    await close()
  })

  test.each<[string, object]>([
    ['approve', RECEIPT],
    ['reject', REFUSAL],
  ])(
    'without a person is told where one decides, and gets the result of "%s" by calling again',
    async (decision, result) => {
      const { call, close } = await connect()
      const refusal = JSON.stringify(await call('pays', { decision }))
      const [, address = '', id] = /at (\S+\/#\/approvals\/\/(call_\w+))\. Tell the user so\./.exec(refusal) ?? []
      expect(new URL(address).origin).toBe(stage.url.origin)
      const list = (await (await stage.ask('/approvals', { headers: authorization() })).json()) as Record<
        string,
        string
      >[]
      const waiting = list.find((each) => each['id'] === id)
      const path = `/conversations/${waiting?.['conversation']}/runs/${waiting?.['run']}/calls/${id}`
      expect((await stage.ask(path, { json: { decision }, headers: authorization() })).status).toBe(200)
      expect(await call('pays', { decision })).toEqual(result)
      expect(JSON.stringify(await call('pays', { decision }))).toContain('Not run yet')
      await close()
    },
  )
})
