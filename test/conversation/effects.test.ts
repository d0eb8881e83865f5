import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { contentText, type Message } from '../../src/contract/message.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import { failure, type Tool } from '../../src/contract/tool.ts'
import { webhookSender } from '../../src/conversation/run/webhook.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { settle } from '../fixtures/settle.ts'
import { Family, instructions, lastText } from './family.ts'
import { runId, TestConversation } from './object.ts'

/** A program, as the loop knows it: it pays the invoices that its arguments number. */
const program: Tool = {
  ...tool('program'),
  makesCalls: true,
  call: async ({ arguments: { from } }, { calls }) => {
    if (!calls) throw new Error('no program')
    const ids = [0, 1, 2].map((each) => `invoice-${Number(from) + each}`)
    calls.ask(ids.map((id) => ({ do: 'call', tool: 'pay', arguments: JSON.stringify({ id }) })))
    for (let rest = ids.length; rest > 0;) rest -= (await calls.next())?.length ?? rest
    return { ok: true, content: [{ type: 'text', text: 'All are paid.' }] }
  },
}
const pay = tool('pay', ({ id }) => `receipt of ${String(id)}`)

/** Obeys the last message of the user: `program 4`, or `read <id>`. Whatever else is answered. */
function obey({ messages }: ModelRequest) {
  const last = messages.at(-1)
  const [verb, argument = ''] = contentText(last?.content ?? '').split(' ')
  if (last?.role !== 'user') return say('Done.')
  if (verb === 'program') return ask(['program', { from: Number(argument) }])
  return verb === 'read' ? ask(['read_result', { id: argument }]) : say('Yes.')
}

/** What a run reads that is asked to. */
async function read(conversation: TestConversation, name: number, id: string): Promise<string | undefined> {
  await conversation.run(name, `read ${id}`)
  const settled = conversation.journal(name).find((event) => event.type === 'call.settled')
  if (settled?.type !== 'call.settled') return undefined
  return settled.content ? contentText(settled.content) : settled.error?.code
}

describe('what a program did', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
  afterEach(() => void vi.useRealTimers())

  /** A conversation in which a program ran in the first turn, whose prompt has been reduced since. */
  async function reduced(): Promise<TestConversation> {
    const conversation = new TestConversation(obey, [program, pay])
    conversation.modelWindow = { contextTokens: 2500 }
    await conversation.run(1, 'program 7')
    for (let name = 2; name <= 12; name++) await conversation.run(name, `say ${'lorem '.repeat(500)}`)
    return conversation
  }
  const call = `call_${runId(1).slice(4)}_1_0`

  test('is in the notes, call by call, with ids by which each result, its arguments and the list are read', async () => {
    const conversation = await reduced()
    const notes = conversation.requests.at(-1)?.messages.find(({ role }) => role === 'system')
    expect(contentText(notes?.content ?? '').split('\n')[1]).toBe(
      `- user: "program 7"; called program({"from":7}) → "All are paid." [${call}], which made ` +
        `pay({"id":"invoice-7"}) → "receipt of invoice-7" [${call}-0], ` +
        `pay({"id":"invoice-8"}) → "receipt of invoice-8" [${call}-1], ` +
        `pay({"id":"invoice-9"}) → "receipt of invoice-9" [${call}-2]; answer: "Done."`,
    )
    expect(await read(conversation, 20, `${call}-1`)).toBe('receipt of invoice-8\n[0 to 20 of 20 characters]')
    expect(await read(conversation, 21, `${call}-1.arguments`)).toBe('{"id":"invoice-8"}\n[0 to 18 of 18 characters]')
    expect(await read(conversation, 22, `${call}.calls`)).toMatch(/invoice-7.*\n.*invoice-8.*\n.*invoice-9/)
  })

  test('is known in a fork, which has no journal of the run', async () => {
    const conversation = await reduced()
    const page = await conversation.object.messages({ limit: 1000, fullResults: true })
    if (!page.ok) throw new Error(page.code)
    const fork = new TestConversation(obey, [program, pay])
    fork.modelWindow = { contextTokens: 8000 }
    await fork.object.create({ tenant: 'acme', id: 'fork', settings: {} })
    await fork.object.adopt(page.messages)
    expect(await read(fork, 20, call)).toBe('All are paid.\n[0 to 13 of 13 characters]')
    expect(await read(fork, 21, `${call}.calls`)).toMatch(/invoice-7.*\n.*invoice-8.*\n.*invoice-9/)
  })

  test('is hidden once its turn is replaced, as are results by keys that are not those of calls', async () => {
    const conversation = await reduced()
    const input: readonly Message[] = [{ role: 'user', content: 'say other' }]
    await conversation.start(13, { request: { input }, replaces: runId(1) })
    await conversation.object.record(runId(13), 10_000)
    for (let name = 14; name <= 19; name++) await conversation.run(name, `say ${'lorem '.repeat(500)}`)
    conversation.store.fullResults.keepReport(runId(1), call, { ok: true, content: [] })
    for (const [index, id] of [call, `${call}-1`, `${call}.calls`, `report/${runId(1)}/${call}`].entries())
      expect([id, await read(conversation, 20 + index, id)]).toEqual([id, 'unknown_result'])
    expect(conversation.rows('SELECT * FROM quarantine')).toEqual([])
  })
})

describe('what was done in turns that have left a sliding window', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
  afterEach(() => void vi.useRealTimers())

  test('is read by the id that the prompt names, the calls of programs too', async () => {
    const conversation = new TestConversation(obey, [program, pay], { MEMORY_MESSAGES: '4' })
    await conversation.run(1, 'program 7')
    await conversation.run(2, 'say one')
    expect(conversation.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant'],
      'user',
    ])
    for (const name of [3, 4]) await conversation.run(name, `say ${name}`)
    const request = conversation.requests.at(-1)
    const texts = request?.messages.map(({ content }) => contentText(content)) ?? []
    expect(texts).toEqual([
      expect.stringContaining('id "notes_4000000"'),
      ...['say one', 'Yes.', 'say 3', 'Yes.', 'say 4'],
    ])
    expect(request?.tools.map(({ name }) => name)).toEqual(['program', 'pay', 'read_result'])
    const reply = await conversation.object.stepRequest(runId(4), 1)
    expect(reply).toMatchObject({ ok: true, request: { messages: request?.messages } })
    const call = `call_${runId(1).slice(4)}_1_0`
    expect(await read(conversation, 20, 'notes_4000000')).toBe(
      `- turn 1: user: "program 7"\n  called program({"from":7}) → "All are paid." [${call}]\n` +
        [0, 1, 2]
          .map((at) => `  made pay({"id":"invoice-${7 + at}"}) → "receipt of invoice-${7 + at}" [${call}-${at}]\n`)
          .join('') +
        '  answer: "Done."\n- turn 2: user: "say one"\n  answer: "Yes."\n' +
        '- turn 3: user: "say 3"\n  answer: "Yes."\n- turn 4: user: "say 4"\n  answer: "Yes."\n' +
        '[0 to 527 of 527 characters]',
    )
  })

  test('is not named to a model that is offered no tools, nor before anything has left', async () => {
    const conversation = new TestConversation(obey, [], { MEMORY_MESSAGES: '2' })
    for (const name of [1, 2, 3]) await conversation.run(name, `say ${name}`)
    expect(conversation.requests.at(-1)).toMatchObject({
      messages: [{ role: 'user' }, {}, { role: 'user' }],
      tools: [],
    })
  })
})

test('a summary and what it is made of fit the window of the model', async () => {
  const long = 'word '.repeat(12_000)
  const sizes: number[] = []
  const answer = (request: ModelRequest) => {
    sizes.push(request.messages.reduce((sum, { content }) => sum + contentText(content).length, 0))
    const isForSummary = contentText(request.messages[0]?.content ?? '').startsWith('You keep the memory')
    return [
      { type: 'text', text: isForSummary ? long : 'Yes.' },
      { type: 'finish', finish: 'stop' },
    ] as const
  }
  for (const window of [{}, { MEMORY_MESSAGES: '4' }]) {
    const conversation = new TestConversation(answer, [pay], { MEMORY_SUMMARY: 'on', ...window })
    conversation.modelWindow = { contextTokens: 4000 }
    for (let name = 1; name <= 40; name++) await conversation.run(name, `say ${'lorem '.repeat(200)}`)
  }
  // About four characters a token.
  expect(Math.max(...sizes)).toBeLessThan(4000 * 4)
})

test('what agents did, three levels down, is in the result of the call and in its event', async () => {
  const agent = (name: string, next: string) => ({ name, description: name, instructions: next, tools: [next] })
  const family = new Family({
    answer: (request) => {
      const next = instructions(request)
      if (lastText(request).startsWith('Paid')) return say('Paid.')
      if (next === 'pay') return request.messages.length > 2 ? say('Paid.') : ask(['pay', { id: lastText(request) }])
      return ask([next === '' ? 'desk' : next, { question: 'invoice-7' }])
    },
    agents: [agent('desk', 'clerk'), agent('clerk', 'teller'), agent('teller', 'pay')],
    tools: [pay],
  })
  await family.start(1, 'Pay invoice 7.')
  await family.pass(60_000)
  expect(await family.record(1)).toMatchObject({ status: 'completed' })
  const effects = [
    { tool: 'clerk', arguments: '{"question":"invoice-7"}', outcome: '"Paid."' },
    { tool: 'teller', arguments: '{"question":"invoice-7"}', outcome: '"Paid."', by: 'clerk' },
    { tool: 'pay', arguments: '{"id":"invoice-7"}', outcome: '"receipt of invoice-7"', by: 'clerk > teller' },
  ]
  const settled = family.journal(runId(1)).find((event) => event.type === 'call.settled')
  expect(settled).toMatchObject({ tool: 'desk', calls: effects })
  const messages = [...family.store().messages.all()].map(({ message }) => message)
  expect(messages.find(({ role }) => role === 'tool')).toMatchObject({ tool: 'desk', calls: effects })
  family.close()
})

test('what an agent did before the calling run was cancelled is read in the next turn, by the id that its call names', async () => {
  const family = new Family({
    answer: (request) => {
      if (instructions(request) === 'pay') return request.messages.length > 2 ? ask(['sign']) : ask(['pay', { id: 7 }])
      const [verb, id] = lastText(request).split(' ')
      if (verb === 'Pay') return ask(['desk', { question: 'invoice-7' }])
      return verb === 'read' ? ask(['read_result', { id }]) : say('Done.')
    },
    agents: [{ name: 'desk', description: 'desk', instructions: 'pay', tools: ['pay', 'sign'] }],
    tools: [pay, tool('sign', () => 'signed', { approval: 'always' })],
  })
  await family.start(1, 'Pay it.')
  await family.pass(60_000)
  expect(await family.at().cancel(runId(1))).toMatchObject({ ok: true, status: 'cancelled' })
  await family.pass(60_000)
  const call = `call_${runId(1).slice(4)}_1_0`
  await family.start(2, `read ${call}`)
  await family.pass(60_000)
  const results = [...family.store().messages.all()].flatMap(({ message }) =>
    message.role === 'tool' ? [contentText(message.content)] : [],
  )
  expect(results).toEqual([
    `Not finished: the run was cancelled. read_result reads what the agent had done by then, with the id "${call}".`,
    'The run of the agent "desk" was cancelled. Before, it made these calls:\npay({"id":7}) → "receipt of 7"\n' +
      'sign({}) → failed: "Not finished: the run was cancelled."\n[0 to 160 of 160 characters]',
  ])
  family.close()
})

describe('a call of which nobody knows whether it took effect', () => {
  const lost = tool('pay', () => failure('in_doubt', 'Its key is in doubt.'))
  const receiver = 'https://hooks.example.com/'
  const doubt = {
    tool: 'pay',
    arguments: '{"id":7}',
    outcome: 'failed: "Its key is in doubt."',
    by: 'clerk',
    inDoubt: true,
  }

  /** A family whose clerk, whom the desk asks, pays and then, if it is to, wants a signature. */
  const familyOf = (isSigned: boolean) =>
    new Family({
      answer: (request) => {
        if (request.messages.some(({ role }) => role === 'tool')) {
          const isPaid = instructions(request) === 'pay' && isSigned && lastText(request).includes('doubt')
          return isPaid ? ask(['sign']) : say('Done.')
        }
        if (instructions(request) === 'pay') return ask(['pay', { id: 7 }])
        return ask([instructions(request) === '' ? 'desk' : 'clerk', { question: 'x' }])
      },
      agents: [
        { name: 'desk', description: 'desk', instructions: 'ask', tools: ['clerk'] },
        { name: 'clerk', description: 'clerk', instructions: 'pay', tools: ['pay', 'sign'] },
      ],
      tools: [lost, tool('sign', () => 'signed', { approval: 'always' })],
      setup: {
        webhooks: webhookSender({
          secret: 'whsec_c2VjcmV0',
          hosts: ['hooks.example.com'],
          isOpen: false,
          report: () => {},
        }),
      },
    })

  test('is told in the run above, in its record and to its webhook, two levels down', async () => {
    const bodies: { type: string; data: { inDoubt?: unknown } }[] = []
    vi.stubGlobal('fetch', async (_url: string, { body }: { body: string }) => {
      bodies.push(JSON.parse(body))
      return new Response(null, { status: 204 })
    })
    const family = familyOf(false)
    await family.at().create({ tenant: 'acme', id: 'conv_home', settings: { webhook: receiver } })
    await family.start(1, 'Pay it.')
    await family.pass(60_000)
    const reply = await family.at().record(runId(1), 0)
    const [call] = reply.ok ? reply.record.calls : []
    expect(call?.callsInDoubt).toEqual([doubt])
    const { conversation, run } = call?.child ?? {}
    expect(bodies.map(({ type, data }) => [type, data.inDoubt])).toEqual([
      ['run.finished', [{ id: call?.id, tool: 'pay', agents: ['desk', 'clerk'], conversation, run }]],
    ])
    family.close()
    vi.unstubAllGlobals()
  })

  test('is told in a run that was cancelled meanwhile, and read in the next turn with all that agents had done', async () => {
    const family = familyOf(true)
    await family.start(1, 'Pay it.')
    await family.pass(60_000)
    expect(await family.at().cancel(runId(1))).toMatchObject({ ok: true, status: 'cancelled' })
    await family.pass(60_000)
    const reply = await family.at().record(runId(1), 0)
    const [call] = reply.ok ? reply.record.calls : []
    expect(call?.callsInDoubt).toEqual([doubt])
    const content = family.store().fullResults.of(call?.id ?? '')
    expect(contentText(content ?? [])).toBe(
      'The run of the agent "desk" was cancelled. Before, it made these calls:\n' +
        'clerk({"question":"x"}) → cancelled\n' +
        'clerk: pay({"id":7}) → failed: "Its key is in doubt."\n' +
        'clerk: sign({}) → failed: "Not finished: the run was cancelled."',
    )
    family.close()
  })

  test('is told in a run that was cancelled while an agent worked that is not stored', async () => {
    const isSigning = Promise.withResolvers<void>()
    const hold = Promise.withResolvers<void>()
    const family = new Family({
      answer: async function* (request) {
        if (instructions(request) === '') return yield* ask(['clerk', { question: 'x' }])
        if (request.messages.every(({ role }) => role !== 'tool')) return yield* ask(['pay', { id: 7 }])
        isSigning.resolve()
        await hold.promise
        yield* say('Done.')
      },
      agents: [{ name: 'clerk', description: 'clerk', instructions: 'pay', tools: ['pay'], durable: false }],
      tools: [lost],
    })
    await family.start(1, 'Pay it.')
    await isSigning.promise
    const cancelled = family.at().cancel(runId(1))
    await settle()
    hold.resolve()
    expect(await cancelled).toMatchObject({ ok: true, status: 'cancelled' })
    await family.pass(60_000)
    const reply = await family.at().record(runId(1), 0)
    const { by: _, ...own } = doubt
    expect(reply.ok && reply.record.calls.map((call) => call.callsInDoubt)).toEqual([[own]])
    family.close()
  })
})
