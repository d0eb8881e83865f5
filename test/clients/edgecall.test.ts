import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, EdgecallError, type EventOf } from '../../src/client.ts'
import { chunksOf } from '../fixtures/model-server.ts'
import { ask, say, type ScriptedStage, startScripted } from './scripted-stage.ts'

let stage: ScriptedStage
beforeAll(async () => void (stage = await startScripted()))
afterAll(() => stage?.close())

type Fetch = (input: string, init?: RequestInit) => Promise<Response>
const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }
const root = ask(['squareRoot', { number: 16 }])

function client(fetch?: Fetch) {
  return createClient({ url: stage.url.href, key: stage.key, ...(fetch && { fetch }) })
}

async function refusal(promise: Promise<unknown>): Promise<object> {
  const error: unknown = await promise.catch((error: unknown) => error)
  if (!(error instanceof EdgecallError)) throw error
  return { code: error.code, status: error.status }
}

/** Real connections, each of which is lost after so many bytes. */
function lossy(bytes: number, paths: string[]): Fetch {
  return async (input, init) => {
    const connection = new AbortController()
    const response = await fetch(input, { ...init, signal: connection.signal })
    paths.push(`${init?.method} ${new Headers(init?.headers).get('last-event-id')?.replace(/.*\./, '') ?? ''}`)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    let remaining = bytes
    const body = response.body!.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          controller.enqueue(chunk.subarray(0, remaining))
          remaining -= chunk.length
          if (remaining <= 0) {
            connection.abort()
            controller.error(new TypeError('network error'))
          }
        },
      }),
    )
    return new Response(body, response)
  }
}

test('a run returns its record and its events', async () => {
  stage.script(root, say('It is 4.'))
  const record = await client().run('Root of 16?')
  expect(record).toMatchObject({ status: 'completed', answer: 'It is 4.', finish: 'stop', steps: 2 })
  expect(record.calls).toMatchObject([{ tool: 'squareRoot', arguments: { number: 16 }, ok: true }])
  stage.script(root, say('It is 4.'))
  const events = await Array.fromAsync(client().stream({ input: 'Root of 16?', tools: ['squareRoot'] }))
  expect(events.at(-1)).toMatchObject({ type: 'run.finished', answer: 'It is 4.' })
  expect(stage.bodies()[0]?.tools?.map((tool) => tool.function.name)).toEqual(['squareRoot'])
})

describe('a conversation', () => {
  test('resumes its events however often the connection is lost, and runs no call twice', async () => {
    stage.script(root, ask(['squareRoot', { number: 81 }]), say('4 and 9.'))
    const requests: string[] = []
    const { id } = await client().createConversation()
    const events = await Array.fromAsync(client(lossy(900, requests)).conversation(id).stream('Roots of 16 and 81?'))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1))
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', status: 'completed', answer: '4 and 9.' })
    expect(events).toEqual(await Array.fromAsync(client().conversation(id).resume(events[0]!.runId)))
    expect(requests.length).toBeGreaterThan(2)
    expect(requests.slice(1).every((each) => /^GET [1-9]\d*$/.test(each))).toBe(true)
    expect(stage.bodies()).toHaveLength(3)
  })

  test('accepts approvals, rejections and results for its calls', async () => {
    stage.script(ask(['pays'], ['pays'], ['pick', { of: 2 }]), say('Done.'))
    const chat = await client().createConversation()
    const waiting = await chat.run({ input: 'Pay twice and pick.', tools: ['pays'], clientTools: [pick] })
    expect([waiting.status, waiting.calls.map(({ status }) => status)]).toEqual([
      'waiting',
      ['approval', 'approval', 'caller'],
    ])
    const [first, second, third] = waiting.calls.map(({ id }) => id)
    await chat.approve(waiting.id, first!)
    await chat.reject(waiting.id, second!, 'once is enough')
    await chat.giveResult(waiting.id, third!, { picked: 'left' })
    expect((await Array.fromAsync(chat.resume(waiting.id))).at(-1)).toMatchObject({
      type: 'run.finished',
      answer: 'Done.',
    })
    expect(
      stage
        .bodies()[1]
        ?.messages.slice(-3)
        .map(({ content }) => content),
    ).toEqual(['paid', 'A person refused this call: once is enough', '{"picked":"left"}'])
    expect(await refusal(chat.approve(waiting.id, first!))).toEqual({ code: 'call_already_answered', status: 409 })
  })

  test('continues after one of its runs was cancelled', async () => {
    stage.script({ chunks: chunksOf({ text: 'One two' }).slice(0, 2), end: 'hang' }, say('Here.'))
    const chat = await client().createConversation()
    const events: EventOf[] = []
    for await (const event of chat.stream('Count.')) {
      events.push(event)
      if (event.type === 'text.delta') expect(await chat.cancel(event.runId)).toBe('cancelled')
    }
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', status: 'cancelled' })
    expect(await chat.cancel(events[0]!.runId)).toBe('already_terminal')
    expect((await chat.run('Still there?')).answer).toBe('Here.')
    expect((await chat.runs()).map(({ status }) => status)).toEqual(['cancelled', 'completed'])
    await chat.delete()
    expect(await refusal(chat.usage())).toEqual({ code: 'conversation_deleted', status: 410 })
  })

  test('runs a request once, however often it is sent with its key', async () => {
    stage.script(root, say('It is 4.'))
    const chat = await client().createConversation()
    const records = await Promise.all(
      Array.from({ length: 5 }, () => chat.run('Root of 16?', { idempotencyKey: 'the-same' })),
    )
    expect(new Set(records.map(({ id }) => id)).size).toBe(1)
    expect(records.map(({ answer }) => answer)).toEqual(Array.from(records, () => 'It is 4.'))
    expect(stage.bodies()).toHaveLength(2)
  })
})

test('a request without a valid key is refused', async () => {
  const stranger = createClient({ url: stage.url.href, key: 'ek_of_nobody' })
  expect(await refusal(stranger.run('Hi'))).toEqual({ code: 'unauthorized', status: 401 })
})
