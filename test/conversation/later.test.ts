import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Deferral, Tool, ToolOutcome } from '../../src/contract/tool.ts'
import { ask, id, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { eventually } from '../fixtures/eventually.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const MINUTE = 60_000
const CALL = id(1, 0)

function text(text: string): ToolOutcome {
  return { ok: true, content: [{ type: 'text', text }] }
}

function later(deferral: Deferral): ToolOutcome {
  return { ok: false, error: { code: 'later', message: 'Nobody can wait for it here.' }, later: deferral }
}

/** A tool that answers later. */
function lateTool(name: string, deferral: Deferral, poll?: Tool['poll']): Tool {
  return { ...tool(name, () => later(deferral), { later: true }), ...(poll && { poll }) }
}

/** A conversation whose model calls these tools once, and then answers with what it reads. */
function conversationWith(tools: readonly Tool[]): TestConversation {
  return new TestConversation(
    ({ messages }) => {
      const results = messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
      const texts = results.map((part) => (part.type === 'text' ? part.text : ''))
      return texts.length > 0
        ? say(texts.join(' | '))
        : ask(...tools.map(({ definition }): [string] => [definition.name]))
    },
    tools,
    {},
    { make: async ({ call }) => ({ token: `token of ${call}` }), read: async () => undefined, filter: undefined },
  )
}

async function recordOf(conversation: TestConversation) {
  const reply = await conversation.object.record(runId(0), 5000)
  if (!reply.ok) throw new Error(reply.code)
  return reply.record
}

test('a run waits for a call that is answered later, and continues with the outcome that is reported', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE })])
  await conversation.run(0)
  expect(await recordOf(conversation)).toMatchObject({
    status: 'waiting',
    finish: 'waiting',
    calls: [{ id: CALL, status: 'later' }],
  })
  const progress = { message: 'half', fraction: 0.5 }
  expect(await conversation.object.report(runId(0), CALL, { progress })).toEqual({ ok: true })
  vi.setSystemTime(Date.now() + 30_000)
  expect(await conversation.object.report(runId(0), CALL, { outcome: text('a film') })).toEqual({ ok: true })
  expect(await recordOf(conversation)).toMatchObject({
    status: 'completed',
    answer: 'a film',
    calls: [{ id: CALL, status: 'settled', ok: true, durationMs: 30_000 }],
  })
  expect(conversation.journal(0).map(({ type }) => type)).toEqual([
    ...['run.started', 'step.started', 'call.proposed', 'step.answered', 'call.started', 'call.deferred'],
    ...['run.waiting', 'call.progress', 'call.reported', 'call.settled', 'run.resumed', 'step.finished'],
    ...['step.started', 'text.delta', 'step.answered', 'step.finished', 'run.finished'],
  ])
})

test('the tool is told where to report, and a tool that never answers later is not', async () => {
  const contexts: Record<string, unknown> = {}
  const reportingTool = (name: string, isLater: boolean) =>
    tool(name, (_, { reportTo }) => void (contexts[name] = reportTo), { later: isLater })
  await conversationWith([reportingTool('render', true), reportingTool('clock', false)]).run(0)
  expect(contexts).toEqual({ render: { token: `token of ${CALL}` }, clock: undefined })
})

test('an outcome that is reported twice counts once, and another one is refused', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE }), lateTool('print', { within: MINUTE })])
  await conversation.run(0)
  const report = (outcome: ToolOutcome) => conversation.object.report(runId(0), CALL, { outcome })
  expect(await report(text('a film'))).toEqual({ ok: true })
  expect(await report(text('a film'))).toEqual({ ok: true })
  expect(await report(text('a book'))).toMatchObject({ ok: false, code: 'call_already_answered' })
  await conversation.object.report(runId(0), id(1, 1), { outcome: text('a page') })
  expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'a film | a page' })
  expect(await report(text('a film'))).toEqual({ ok: true })
  expect(await report(text('a book'))).toMatchObject({ ok: false, code: 'call_already_answered' })
  expect(conversation.journal(0).filter(({ type }) => type === 'call.settled')).toHaveLength(2)
})

test('the outcome of one call is settled while the run still waits for another', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE }), lateTool('print', { within: MINUTE })])
  await conversation.run(0)
  await conversation.object.report(runId(0), id(1, 1), { outcome: text('a page') })
  await eventually(() =>
    expect(conversation.journal(0).at(-1)).toMatchObject({ type: 'call.settled', callId: id(1, 1) }),
  )
  expect(await recordOf(conversation)).toMatchObject({ status: 'waiting', calls: [{ status: 'later' }, { ok: true }] })
})

test('an outcome that is reported before the tool has answered "later" is not lost', async () => {
  const outcome = Promise.withResolvers<ToolOutcome>()
  const started = Promise.withResolvers<void>()
  const slow = tool(
    'render',
    () => {
      started.resolve()
      return outcome.promise
    },
    { later: true },
  )
  const conversation = conversationWith([slow])
  await conversation.start(0)
  await started.promise
  expect(await conversation.object.report(runId(0), CALL, { outcome: text('a film') })).toEqual({ ok: true })
  outcome.resolve(later({ within: MINUTE }))
  expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'a film' })
  expect(conversation.journal(0).some(({ type }) => type === 'run.waiting')).toBe(false)
})

test('a run whose object was lost in the call continues with the outcome that was reported before', async () => {
  const started = Promise.withResolvers<void>()
  const slow = tool(
    'render',
    () => {
      started.resolve()
      return new Promise(() => {})
    },
    { later: true },
  )
  const conversation = conversationWith([slow])
  await conversation.start(0)
  await started.promise
  await conversation.object.report(runId(0), CALL, { outcome: text('a film') })
  vi.setSystemTime(Date.now() + MINUTE)
  conversation.live()
  expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'a film' })
})

test('a run that waits for a tool survives the loss of its object', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE })])
  await conversation.run(0)
  conversation.live()
  expect(await recordOf(conversation)).toMatchObject({ status: 'waiting', calls: [{ status: 'later' }] })
  await conversation.object.report(runId(0), CALL, { outcome: text('a film') })
  expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'a film' })
})

test('a report that cannot be stored is lost as a whole, and can be sent again', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE })])
  await conversation.run(0)
  const report = () => conversation.object.report(runId(0), CALL, { outcome: text('a film') })
  conversation.onTransaction = () => {
    throw new Error('The disk is full.')
  }
  await expect(report()).rejects.toThrow('full')
  conversation.onTransaction = () => {}
  expect(await report()).toEqual({ ok: true })
  expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'a film' })
})

test('the model reads a failure if no outcome comes in time, and an outcome after that is refused', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE })])
  await conversation.run(0)
  while (Date.now() < 1_000_000 + MINUTE) await conversation.ring()
  expect(await recordOf(conversation)).toMatchObject({
    status: 'completed',
    answer: 'The tool "render" gave no result in the time that it had asked for; whether it took effect is unknown.',
    calls: [{ ok: false, error: { code: 'no_outcome' }, durationMs: MINUTE }],
  })
  const report = await conversation.object.report(runId(0), CALL, { outcome: text('a film') })
  expect(report).toMatchObject({ ok: false, code: 'call_already_answered' })
})

test('the alarm polls the tool, with its state, until there is an outcome', async () => {
  const polls: unknown[] = []
  const answers: (ToolOutcome | Error)[] = [
    later({ within: MINUTE }),
    new Error('The network is down.'),
    { ok: false, error: { code: 'timeout', message: 'No answer.' } },
    text('a film'),
  ]
  const poll: Tool['poll'] = async ({ context }, state) => {
    polls.push([Date.now() - 1_000_000, state, context.idempotencyKey])
    const answer = answers.shift()
    if (answer instanceof Error || !answer) throw answer ?? new Error('There are no more answers.')
    return answer
  }
  const conversation = conversationWith([lateTool('render', { within: MINUTE, poll: 2000, state: 'job 7' }, poll)])
  await conversation.run(0)
  while (polls.length < 4) {
    await conversation.ring()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'a film' })
  expect(polls).toEqual([2000, 4000, 6000, 8000].map((at) => [at, 'job 7', CALL]))
  expect(conversation.journal(0).filter(({ type }) => type === 'call.deferred')).toHaveLength(1)
  expect(conversation.reports).toContainEqual(expect.objectContaining({ code: 'poll_failed' }))
})

test('a poll that fails for good is the outcome', async () => {
  const fault: ToolOutcome = { ok: false, error: { code: 'tool_error', message: 'The film is damaged.' } }
  const conversation = conversationWith([lateTool('render', { within: MINUTE, poll: 1000 }, async () => fault)])
  await conversation.run(0)
  await conversation.ring()
  await conversation.ring()
  expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'The film is damaged.' })
})

test('an outcome that was reported during a poll counts', async () => {
  const polled = Promise.withResolvers<ToolOutcome>()
  const start = Promise.withResolvers<void>()
  const poll = () => {
    start.resolve()
    return polled.promise
  }
  const conversation = conversationWith([lateTool('render', { within: MINUTE, poll: 1000 }, poll)])
  await conversation.run(0)
  await conversation.ring()
  await conversation.ring()
  await start.promise
  await conversation.object.report(runId(0), CALL, { outcome: text('a film') })
  polled.resolve(text('a draft'))
  expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'a film' })
})

test('where an outcome can be neither polled nor reported, the model reads that nobody can wait for it', async () => {
  const render = lateTool('render', { within: MINUTE })
  const conversation = new TestConversation(
    ({ messages }) => (messages.some(({ role }) => role === 'tool') ? say('I see.') : ask(['render'])),
    [render],
  )
  await conversation.run(0)
  expect(await recordOf(conversation)).toMatchObject({
    status: 'completed',
    calls: [{ ok: false, error: { code: 'later', message: 'Nobody can wait for it here.' } }],
  })
})

test('a reported outcome passes the hooks, the fault policy and the limits of any outcome', async () => {
  const render = lateTool('render', { within: MINUTE })
  const small = { ...render, definition: { ...render.definition, maxResultBytes: 100 } }
  const conversation = conversationWith([small, lateTool('print', { within: MINUTE })])
  conversation.loop = {
    hooks: [
      {
        name: 'redact',
        call: async (request, next) => {
          const outcome = await next(request)
          if (!outcome.ok) return outcome
          const [part] = outcome.content
          return part?.type === 'text' ? text(part.text.replaceAll('secret', '[removed]')) : outcome
        },
      },
    ],
    onFault: ({ code }) => (code === 'no_paper' ? { message: 'Add paper first.' } : undefined),
  }
  conversation.live()
  await conversation.run(0)
  await conversation.object.report(runId(0), CALL, { outcome: text(`secret ${'a'.repeat(200)}`) })
  const fault: ToolOutcome = { ok: false, error: { code: 'no_paper', message: 'E77', detail: 'tray 2' } }
  await conversation.object.report(runId(0), id(1, 1), { outcome: fault })
  const { answer, status } = await recordOf(conversation)
  expect(status).toBe('completed')
  expect(answer).toMatch(/^\[removed\] a+\n\[cut: \d+ of \d+ bytes shown; read_result .*\] \| Add paper first\.$/)
  expect(JSON.stringify(conversation.journal(0))).not.toMatch(/tray 2|"secret/)
  expect(conversation.reports).toContainEqual(expect.objectContaining({ code: 'no_paper', detail: 'tray 2' }))
})

test('a request that may not interrupt a run that waits for its tools is told to let them answer', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE })])
  await conversation.run(0)
  expect(await conversation.start(1, { onBusy: 'interrupt-unless-waiting' })).toMatchObject({
    code: 'run_waiting',
    message: `The run ${runId(0)} is waiting: let its tools answer, or POST /conversations/conv_1/runs/${runId(0)}/cancel, then send this request again.`,
  })
})

test('a cancelled run does not wait for its tools, and refuses what they report', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE })])
  await conversation.run(0)
  expect(await conversation.object.cancel(runId(0))).toEqual({ ok: true, status: 'cancelled' })
  expect(await recordOf(conversation)).toMatchObject({ status: 'cancelled', calls: [{ ok: false }] })
  const progress = { message: 'half' }
  const report = await conversation.object.report(runId(0), CALL, { progress })
  expect(report).toMatchObject({ ok: false, code: 'call_already_answered' })
})

test.each(['approval', 'outcome'])(
  'a run that waits for a person and for a tool may get the %s first',
  async (first) => {
    const mail = tool('mail', () => 'sent', { approval: 'always' })
    const conversation = conversationWith([mail, lateTool('render', { within: MINUTE })])
    await conversation.run(0)
    const settled = { ok: true }
    const expectCalls = (...calls: object[]) =>
      eventually(async () =>
        expect((await conversation.object.record(runId(0), 0)) as object).toMatchObject({ record: { calls } }),
      )
    await expectCalls({ status: 'approval' }, { status: 'later' })
    const steps = {
      approval: () => conversation.object.answer(runId(0), { [CALL]: { decision: 'approve' } }),
      outcome: () => conversation.object.report(runId(0), id(1, 1), { outcome: text('a film') }),
    }
    const isApproved = first === 'approval'
    await (isApproved ? steps.approval() : steps.outcome())
    await expectCalls(isApproved ? settled : { status: 'approval' }, isApproved ? { status: 'later' } : settled)
    await (isApproved ? steps.outcome() : steps.approval())
    expect(await recordOf(conversation)).toMatchObject({ status: 'completed', answer: 'sent | a film' })
  },
)

test('a report on a run or a call that does not exist is refused', async () => {
  const conversation = conversationWith([lateTool('render', { within: MINUTE })])
  const progress = { message: 'half' }
  expect(await conversation.object.report(runId(0), CALL, { progress })).toMatchObject({ code: 'unknown_conversation' })
  await conversation.run(0)
  expect(await conversation.object.report(runId(1), CALL, { progress })).toMatchObject({ code: 'unknown_run' })
  expect(await conversation.object.report(runId(0), id(9, 9), { progress })).toMatchObject({
    code: 'call_already_answered',
  })
})
