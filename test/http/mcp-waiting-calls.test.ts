import { describe, expect, test, vi } from 'vitest'
import { failure, type ToolOutcome } from '../../src/contract/tool.ts'
import { bearer, keyName } from '../fixtures/keys.ts'
import { tool } from '../fixtures/play.ts'
import { eventually } from '../fixtures/eventually.ts'
import { settle } from '../fixtures/settle.ts'
import { edgeWith, messagesOf } from './older-mcp-client.ts'

const text = (words: string) => [{ type: 'text' as const, text: words }]
const FORMS = { elicitation: {} }

/** A tool that pays once a person has allowed it, and what it has paid. */
function payer(terms: Parameters<typeof tool>[2] = { approval: 'always' }) {
  const payments: unknown[] = []
  const pay = tool(
    'pay',
    (args, { values }) => {
      payments.push(args)
      return `paid ${JSON.stringify(args)}${JSON.stringify(values)}`
    },
    terms,
  )
  return { pay, payments }
}

const QUESTION = {
  mode: 'form',
  message: 'Allow the call of "pay" with {"n":1}?',
  requestedSchema: { type: 'object', properties: {} },
}

describe('a client of 2025-11-25 that has declared elicitation', () => {
  test('is given a session, and no other client', async () => {
    const { connect } = edgeWith([])
    expect((await connect(FORMS)).session).toMatch(/^form\.mcp_[A-Za-z0-9]{22}$/)
    expect((await connect({ elicitation: { form: {}, url: {} } })).session).toMatch(/^form\+url\.mcp_/)
    expect((await connect({ elicitation: { url: {} } })).session).toMatch(/^url\.mcp_/)
    expect([(await connect({})).session, (await connect({ elicitation: true })).session]).toEqual([null, null])
  })

  test.each([
    ['accept', [{ n: 1 }], { content: text('paid {"n":1}{}') }],
    ['decline', [], { content: text('A person refused this call.'), isError: true }],
    ['cancel', [], { content: text('A person refused this call.'), isError: true }],
  ])('is asked in the stream of its call: %s', async (action, expected, result) => {
    const { pay, payments } = payer()
    const { connect } = edgeWith([pay])
    const { start, send } = await connect(FORMS)
    const stream = await start('pay', { n: 1 })
    const question = await stream.next()
    expect(question).toEqual({
      jsonrpc: '2.0',
      id: expect.any(String),
      method: 'elicitation/create',
      params: QUESTION,
    })
    expect(payments).toEqual([])
    const reply = await send({ id: question.id, result: { action, ...(action === 'accept' && { content: {} }) } })
    expect([reply.status, await reply.text()]).toEqual([202, ''])
    expect(await stream.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: question.id } })
    expect(await stream.next()).toEqual({ jsonrpc: '2.0', id: 1, result })
    expect(await stream.next()).toBeUndefined()
    expect(payments).toEqual(expected)
  })

  test('gets the decision that somebody makes elsewhere, and its question is withdrawn', async () => {
    const { pay, payments } = payer()
    const { connect, approvals, decide } = edgeWith([pay])
    const { start, send } = await connect(FORMS)
    const stream = await start('pay', { n: 1 })
    const question = await stream.next()
    const [waiting] = await approvals()
    expect((await decide(waiting!, { decision: 'reject', reason: 'Too much.' }, 'colleague')).status).toBe(200)
    expect(await stream.next()).toMatchObject({ method: 'notifications/cancelled' })
    expect(await stream.next()).toMatchObject({
      result: { content: text('A person refused this call: Too much.'), isError: true },
    })
    // It comes too late.
    expect((await send({ id: question.id, result: { action: 'accept' } })).status).toBe(202)
    expect(payments).toEqual([])
  })

  test('is asked by a tool, whose call is not made again for that', async () => {
    const calls: unknown[] = []
    const needs: ToolOutcome = {
      ...failure('input_required', 'Nobody can be asked.'),
      input: { requests: { room: { method: 'elicitation/create', params: { message: 'Room?' } } }, state: 'half' },
    }
    const book = tool('book', (_args, { input, asks }) => {
      calls.push([asks, input])
      return input ? { ok: true, content: text('booked') } : needs
    })
    const { connect } = edgeWith([book])
    const { start, send } = await connect(FORMS)
    const stream = await start('book')
    const question = await stream.next()
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Room?' } })
    await send({ id: question.id, result: { action: 'accept', content: { number: 7 } } })
    expect(await stream.next()).toMatchObject({ method: 'notifications/cancelled' })
    expect(await stream.next()).toMatchObject({ result: { content: text('booked') } })
    const asks = ['elicitation/create']
    const input = { responses: { room: { action: 'accept', content: { number: 7 } } }, state: 'half' }
    expect(calls).toEqual([
      [asks, undefined],
      [asks, input],
    ])
    // A client that can only open pages is not shown a form.
    const pages = await connect({ elicitation: { url: {} } })
    expect(await pages.call('book')).toMatchObject({ result: { content: text('Nobody can be asked.'), isError: true } })
  })

  test('gets the result of a call that it has left before the decision, once, when it calls again', async () => {
    const { pay, payments } = payer()
    const { connect } = edgeWith([pay])
    const { start, send } = await connect(FORMS)
    const first = await start('pay', { n: 1 }, 1)
    const question = await first.next()
    // What a client does after its minute; the stream may stay open.
    await send({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'timeout' } })
    await send({ id: question.id, result: { action: 'accept', content: {} } })
    await eventually(() => expect(payments).toEqual([{ n: 1 }]))
    await first.next()
    expect(await first.next()).toMatchObject({ id: 1, result: { isError: true } })
    expect(await (await start('pay', { n: 1 }, 2)).next()).toMatchObject({
      id: 2,
      result: { content: text('paid {"n":1}{}') },
    })
    const third = await start('pay', { n: 1 }, 3)
    expect(await third.next()).toMatchObject({ method: 'elicitation/create' })
    await third.leave()
    expect(payments).toEqual([{ n: 1 }])
  })

  test('is asked for each of two equal calls at once', async () => {
    const { pay, payments } = payer()
    const { connect } = edgeWith([pay])
    const { start, send } = await connect(FORMS)
    const streams = await Promise.all([start('pay', { n: 1 }, 1), start('pay', { n: 1 }, 2)])
    const accept = async (question: any) => send({ id: question.id, result: { action: 'accept', content: {} } })
    const play = async (stream: { next(): Promise<any> }) => {
      for (let message = await stream.next(); message; message = await stream.next()) {
        if (message.method === 'elicitation/create') await accept(message)
        if (message.result) return message.result
      }
    }
    const result = { content: text('paid {"n":1}{}') }
    expect(await Promise.all(streams.map(play))).toEqual([result, result])
    expect(payments).toEqual([{ n: 1 }, { n: 1 }])
  })
})

describe('a client that has lost the stream of its call', () => {
  const paid = { jsonrpc: '2.0', id: 1, result: { content: text('paid {"n":1}{}') } }
  const accept = (id: string) => ({ id, result: { action: 'accept', content: {} } })

  async function losing() {
    const { pay, payments } = payer()
    const { edge, connect, approvals } = edgeWith([pay])
    const client = await connect(FORMS)
    const first = await client.start('pay', { n: 1 })
    const question = await first.next()
    await first.leave()
    const [, token = ''] = /^(.*)\.\d+$/.exec(first.lastId()) ?? []
    return { edge, connect, approvals, client, question, payments, lastId: first.lastId(), atStart: `${token}.0` }
  }

  test('is not asked again, and gets the result of the one call', async () => {
    const { client, question, payments, lastId } = await losing()
    const stream = messagesOf(await client.goOn(lastId))
    await settle()
    expect((await client.send(accept(question.id))).status).toBe(202)
    expect(await stream.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: question.id } })
    expect(await stream.next()).toEqual(paid)
    expect(await stream.next()).toBeUndefined()
    expect(payments).toEqual([{ n: 1 }])
  })

  test('is asked, if it was lost before the question', async () => {
    const { client, question, payments, atStart } = await losing()
    const stream = messagesOf(await client.goOn(atStart))
    expect(await stream.next()).toEqual(question)
    await client.send(accept(question.id))
    await stream.next()
    expect(await stream.next()).toEqual(paid)
    expect(payments).toEqual([{ n: 1 }])
  })

  test('gets the result that came meanwhile, as often as it loses it, and the next call is another one', async () => {
    const { client, question, payments, lastId } = await losing()
    await client.send(accept(question.id))
    await eventually(() => expect(payments).toEqual([{ n: 1 }]))
    for (let times = 0; times < 3; times++) expect(await messagesOf(await client.goOn(lastId)).next()).toEqual(paid)
    const next = await client.start('pay', { n: 1 }, 2)
    expect(await next.next()).toMatchObject({ method: 'elicitation/create' })
    await next.leave()
    expect(payments).toEqual([{ n: 1 }])
  })

  test('gets no result of a request that it has cancelled: that is left to the next call', async () => {
    const { client, question, payments, lastId } = await losing()
    await client.send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    await client.send(accept(question.id))
    await eventually(() => expect(payments).toEqual([{ n: 1 }]))
    expect(await messagesOf(await client.goOn(lastId)).next()).toMatchObject({ id: 1, result: { isError: true } })
    expect(await (await client.start('pay', { n: 1 }, 2)).next()).toEqual({ ...paid, id: 2 })
  })

  test('is refused with an event of another session or key, or of none', async () => {
    const { client, connect, lastId, atStart } = await losing()
    const others = await Promise.all([connect(FORMS), connect(FORMS, 'colleague'), connect({})])
    const changed = lastId.replace(/.\./, (end) => (end === 'A.' ? 'B.' : 'A.'))
    const responses = await Promise.all([
      ...others.map((other) => other.goOn(lastId)),
      ...[changed, `${atStart}x`, '7', ''].map((id) => client.goOn(id)),
    ])
    const message = 'This session has no stream with this event: call the tool again.'
    for (const response of responses) {
      expect([response.status, await response.json()]).toEqual([
        400,
        { jsonrpc: '2.0', error: { code: -32_600, message } },
      ])
    }
  })

  test('costs no requests while it waits', async () => {
    const { edge, client, question, lastId } = await losing()
    await settle()
    const [object] = edge.objects.values()
    const reads = (['events', 'record', 'runs', 'approval'] as const).map((name) => vi.spyOn(object!, name))
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'Date'] })
    try {
      const stream = messagesOf(await client.goOn(lastId))
      await settle()
      await vi.advanceTimersByTimeAsync(300_000)
      expect(reads.map(({ mock }) => mock.calls.length)).toEqual([1, 0, 0, 1])
      expect((await client.send(accept(question.id))).status).toBe(202)
      expect(await stream.next()).toMatchObject({ method: 'notifications/cancelled' })
    } finally {
      vi.useRealTimers()
    }
  })
})

describe.each<[string, object, string, Record<string, unknown>]>([
  ['without elicitation', {}, 'person', {}],
  ['whose key may not approve', FORMS, 'program', {}],
  ['of an edge with FOUR_EYES', FORMS, 'person', { FOUR_EYES: 'on' }],
  ['that can only open pages', { elicitation: { url: {} } }, 'person', {}],
])('a client %s', (_, capabilities, key, vars) => {
  test.each([
    [{ decision: 'approve' }, { content: text('paid {"n":1}{}') }, [{ n: 1 }]],
    [{ decision: 'reject', reason: 'No.' }, { content: text('A person refused this call: No.'), isError: true }, []],
  ])(
    'is told where a person decides, and gets the result of %j by calling again',
    async (decision, result, expected) => {
      const { pay, payments } = payer()
      const { edge, connect, approvals, decide } = edgeWith([pay], vars)
      const { call } = await connect(capabilities, key)
      const pending = await call('pay', { n: 1 })
      const [waiting] = await approvals('colleague')
      const link = `http://127.0.0.1:8787/#/approvals//${waiting!['id']}`
      expect([pending.result.isError, pending.result.content[0].text]).toEqual([
        true,
        `Not run yet: a person must allow this call, at ${link}. Tell the user so. Once it is decided, call the tool again ` +
          'with the same arguments to get the result.',
      ])
      expect(waiting).toMatchObject({ tool: 'pay', caller: { tenant: 'acme', key: keyName(key) } })
      // Neither makes the call, nor asks for a second approval.
      expect(await call('pay', { n: 1 })).toEqual(pending)
      expect(payments).toEqual([])
      expect((await decide(waiting!, decision, 'colleague')).status).toBe(200)
      await edge.settle()
      // It is made as soon as it is allowed.
      expect(payments).toEqual(expected)
      expect(await call('pay', { n: 1 })).toMatchObject({ result })
      expect((await call('pay', { n: 1 })).result.content[0].text).toContain('Not run yet')
      await approvals('colleague', 1)
      expect(payments).toEqual(expected)
    },
  )
})

test('an approval counts for the same key, tool, arguments and context alone', async () => {
  const { pay, payments } = payer()
  const { edge, connect, approvals, decide } = edgeWith([pay])
  const [own, other] = [await connect({}), await connect({}, 'colleague')]
  await own.call('pay', { n: 1 })
  const [waiting] = await approvals()
  await decide(waiting!, { decision: 'approve' })
  await edge.settle()
  const isPending = async (answer: Promise<any>) => /Not run yet/.test((await answer).result.content[0].text)
  expect(await isPending(own.call('pay', { n: 2 }))).toBe(true)
  expect(await isPending(other.call('pay', { n: 1 }))).toBe(true)
  expect(await isPending((await own.start('pay', { n: 1 }, 1, { user: 'bob' })).next())).toBe(true)
  expect(await own.call('pay', { n: 1 })).toMatchObject({ result: { content: text('paid {"n":1}{}') } })
  expect(payments).toEqual([{ n: 1 }])
})

test('tools that always need approval are listed for all clients, and refused without a secret', async () => {
  const { pay } = payer()
  const { edge, connect } = edgeWith([pay])
  const { send, call } = await connect({})
  const names = async () => {
    const { result } = (await (await send({ id: 1, method: 'tools/list' })).json()) as any
    return result.tools.map(({ name }: { name: string }) => name)
  }
  expect(await names()).toEqual(['pay'])
  Object.assign(edge.setup, { questionSigner: undefined })
  expect(await names()).toEqual([])
  expect((await call('pay', { n: 1 })).result).toEqual({
    content: text('Not run: this call needs approval by a person, which is possible in a conversation only.'),
    isError: true,
  })
})

test('a tool that returns the code of a refused call is not called again for that', async () => {
  const calls = vi.fn(() => failure('approval_needs_conversation', 'Allow it.'))
  const { connect, approvals } = edgeWith([tool('trick', calls)])
  const { call } = await connect(FORMS)
  expect((await call('trick')).result).toEqual({ content: text('Allow it.'), isError: true })
  expect([calls.mock.calls.length, await approvals('person', 0)]).toEqual([1, []])
})

test('a call whose conversation was deleted can be made again', async () => {
  const { pay } = payer()
  const { edge, connect, approvals } = edgeWith([pay])
  const { call } = await connect({})
  await call('pay', { n: 1 })
  const [waiting] = await approvals()
  const { conversation } = waiting!
  await edge.fetch(`/conversations/${conversation}`, { method: 'DELETE', headers: bearer('person') })
  await call('pay', { n: 1 })
  await eventually(async () => {
    const [next] = await approvals()
    expect(next!['conversation']).not.toBe(conversation)
  })
})

test('a call that somebody cancels is not made, and says so once', async () => {
  const { pay, payments } = payer()
  const { edge, connect, approvals } = edgeWith([pay])
  const { call } = await connect({})
  const pending = await call('pay', { n: 1 })
  const [waiting] = await approvals()
  const { conversation, run } = waiting!
  await edge.post(`/conversations/${conversation}/runs/${run}/cancel`, {}, bearer('person'))
  expect((await call('pay', { n: 1 })).result).toEqual({
    content: text('Somebody has cancelled this call.'),
    isError: true,
  })
  expect((await call('pay', { n: 1 })).result.content[0].text).not.toBe(pending.result.content[0].text)
  expect(payments).toEqual([])
})

test('a call whose run is refused gets an error in its stream', async () => {
  const { pay } = payer()
  const { edge, connect } = edgeWith([pay])
  const { call } = await connect(FORMS)
  Object.assign(edge.setup, { loop: { hooks: [{ name: 'closed', accept: () => 'No runs today.' }] } })
  expect(await call('pay', { n: 1 })).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32_600, message: 'No runs today.' },
  })
})
