import { describe, expect, test, vi } from 'vitest'
import { approvers, makeSetup, mailApprovers, type Part, toolPolicies } from 'edgecall'
import { ask, say } from '../fixtures/play.ts'
import { bearer } from '../fixtures/keys.ts'
import { askingEdge, buttonsOf, EDGE, signer, type SlackCall, slackGroup, slackServer } from './asking-edge.ts'

const textsOf = ({ body }: SlackCall): string[] =>
  body.blocks
    .flatMap(({ text, elements = [] }: any) => [text, ...elements].map((each: any) => each?.text?.text ?? each?.text))
    .filter((each: unknown) => typeof each === 'string')

/** An edge whose people are asked in Slack, and a run that waits for them. */
async function waiting(options: Parameters<typeof askingEdge>[1] = {}, slack: Parameters<typeof slackGroup>[1] = {}) {
  const server = await slackServer()
  const edge = askingEdge({ finance: slackGroup(server.api, slack), other: slackGroup(server.api, slack) }, options)
  const { run, calls } = await edge.start()
  const [message = expect.unreachable('nobody was asked')] = server.calls
  return { ...edge, ...server, run, call: calls[0] ?? '', slackCalls: server.calls, message }
}

describe('a call that waits is sent to the people that its policy names', () => {
  test('in Slack, with all of its arguments, as plain text', async () => {
    const script = [ask(['pay', { to: '<!channel> *Eve*', note: 'a\u202eb', id: 7 }]), say('Paid.')]
    const { message, slackCalls, reports } = await waiting({ script })
    expect(slackCalls).toHaveLength(1)
    expect([message.method, message.authorization]).toEqual(['chat.postMessage', 'Bearer xoxb-1'])
    const { channel, text, blocks } = message.body
    expect([channel, text]).toEqual(['C1', 'pay waits for your approval'])
    expect(textsOf(message).slice(0, 3)).toEqual([
      'pay waits for your approval',
      '{\n  "to": "<!channel> *Eve*",\n  "note": "a\\u202eb",\n  "id": 7\n}',
      'Asked for by program at edge.example.com',
    ])
    const types = new Set(JSON.stringify(blocks).match(/"type":"(?:plain_text|mrkdwn)"/g))
    expect([...types]).toEqual(['"type":"plain_text"'])
    expect(Object.keys(buttonsOf(message))).toEqual(['approve', 'reject'])
    for (const value of Object.values(buttonsOf(message))) expect(value.length).toBeLessThan(2000)
    expect(reports).toEqual([])
  })

  test('and to nobody else', async () => {
    const { api, calls } = await slackServer()
    const edge = askingEdge({ finance: slackGroup(api) }, { policies: () => [] })
    await edge.start()
    expect(calls).toEqual([])
    const unknown = askingEdge({ finance: slackGroup(api) }, { policies: () => ['board', '__proto__'] })
    await unknown.start()
    expect(calls).toEqual([])
  })

  test('not to a group without anybody who may decide in the tenant of the run', async () => {
    const { api, calls } = await slackServer()
    const people = { U3: 'reader', U4: 'expired', U5: 'stranger', U7: 'nobody', U8: 'ann' }
    const edge = askingEdge({ finance: slackGroup(api, { people }) }, { disabled: ['ann'] })
    const { run } = await edge.start()
    expect(calls).toEqual([])
    expect(edge.reports).toMatchObject([{ event: 'approval.not_sent', runId: run, group: 'finance', tenant: 'acme' }])
  })

  test('again if Slack has not taken it, until it has; and not again what it has taken', async () => {
    const server = await slackServer([{ ok: true }, { ok: false, error: 'ratelimited' }])
    const script = [ask(['pay', { n: 1 }], ['pay', { n: 2 }]), say('Paid.')]
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const edge = askingEdge({ finance: slackGroup(server.api) }, { script })
      await edge.start()
      const numbersOf = () => server.calls.map((call) => JSON.parse(textsOf(call)[1] ?? '').n)
      expect(numbersOf()).toEqual([1, 2])
      expect(edge.reports).toMatchObject([
        {
          event: 'report.failed',
          reporter: 'approvers',
          detail: 'Slack answered 200 to chat.postMessage: ratelimited',
        },
      ])
      vi.setSystemTime(Date.now() + 60_000)
      await edge.own.settle()
      expect(numbersOf()).toEqual([1, 2, 2])
    } finally {
      vi.useRealTimers()
    }
  })

  test('once for each time that the run begins to wait', async () => {
    const script = [ask(['pay', { n: 1 }]), ask(['pay', { n: 2 }]), say('Paid.')]
    const { message, click, slackCalls, record, run } = await waiting({ script })
    await click(message, 'approve')
    await record(run)
    const posts = slackCalls.filter(({ method }) => method === 'chat.postMessage')
    expect(posts.map((call) => JSON.parse(textsOf(call)[1] ?? '').n)).toEqual([1, 2])
    // A button is for its own call.
    expect(buttonsOf(posts[1] ?? message)['approve']).not.toBe(buttonsOf(message)['approve'])
  })

  test('without a button to approve, if Slack cannot show all of it', async () => {
    const { message } = await waiting({ script: [ask(['pay', { text: 'x'.repeat(30_000) }]), say('Paid.')] })
    expect(Object.keys(buttonsOf(message))).toEqual(['reject'])
    expect(textsOf(message)[1]).toContain('too long to be shown')
    const longText = await waiting({ script: [ask(['pay', { text: '😀'.repeat(9000) }]), say('Paid.')] })
    expect(textsOf(longText.message).join('').includes('😀'.repeat(9000))).toBe(true)
    for (const text of textsOf(longText.message)) expect(text.length).toBeLessThanOrEqual(3000)
  })
})

describe('an edge', () => {
  const nobody = { getByName: () => expect.unreachable() }
  const faultOf = (policy: object, use: readonly Part[], env: object = {}) => {
    const bindings = { CONVERSATIONS: nobody, DIRECTORIES: nobody }
    const vars = { AUTH: 'keys', API_KEYS: '[]', OUTCOME_SECRET: 's', TOOL_POLICY: JSON.stringify(policy) }
    try {
      makeSetup({ ...bindings, ...vars, ...env }, { providers: {}, use })
      return 'none'
    } catch (error) {
      return String(error)
    }
  }
  const board = mailApprovers({ binding: 'MAIL', from: 'edge@example.com', people: {} })
  const policy = { pay: { approvers: ['board'] } }

  test('says what its approvers lack', () => {
    const address = { EDGE_URL: EDGE }
    expect(faultOf(policy, [toolPolicies, approvers({ board })], address)).toBe('none')
    expect(faultOf(policy, [toolPolicies], address)).toContain('approvers')
    expect(faultOf({ pay: { approvers: ['bord'] } }, [toolPolicies, approvers({ board })], address)).toContain('"bord"')
    expect(faultOf(policy, [toolPolicies, approvers({ board })])).toContain('EDGE_URL')
    expect(faultOf(policy, [toolPolicies, approvers({ board })], { ...address, OUTCOME_SECRET: '' })).toContain(
      'OUTCOME_SECRET',
    )
    expect(faultOf({}, [approvers({ board })], { ...address, TOOL_POLICY: '' })).toContain('toolPolicies')
  })
})

describe('a click in Slack', () => {
  test('approves the call in the name of the person, and the message says so', async () => {
    const { message, click, slackCalls, paid, record, run, call, decisions } = await waiting()
    const answer = await click(message, 'approve')
    expect([answer.status, await answer.text()]).toEqual([200, ''])
    expect(await record(run)).toMatchObject({ status: 'completed', answer: 'Paid.' })
    expect(paid).toEqual([{ to: 'Eve', cents: 100 }])
    expect(await decisions(run)).toMatchObject([{ callId: call, decision: 'approve', by: 'ann' }])
    expect((await decisions(run)).map((event) => 'seenHash' in event)).toEqual([false])
    const [, update] = slackCalls
    expect([update?.method, update?.body.channel, update?.body.ts]).toEqual(['chat.update', 'C1', '1.2'])
    expect(update?.body.blocks.map(({ type }: any) => type)).toEqual(['section', 'section', 'context', 'context'])
    expect(update?.body.text).toBe('Approved by <@U1>')
  })

  test('rejects it', async () => {
    const { message, click, paid, record, run, decisions, slackCalls } = await waiting()
    await click(message, 'reject', { user: 'U2' })
    expect(await record(run)).toMatchObject({ status: 'completed' })
    expect(paid).toEqual([])
    expect(await decisions(run)).toMatchObject([{ decision: 'reject', by: 'bo' }])
    expect(slackCalls[1]?.body.text).toBe('Rejected by <@U2>')
  })

  test('counts once: the first decision stands, and the next person is told', async () => {
    const { message, click, paid, record, run, decisions, slackCalls } = await waiting()
    await click(message, 'approve')
    await click(message, 'approve')
    await click(message, 'reject', { user: 'U2' })
    await record(run)
    expect([paid.length, (await decisions(run)).length]).toEqual([1, 1])
    const texts = slackCalls.slice(1).map(({ method, body }) => `${method}: ${body.text}`)
    const refusal = 'chat.postEphemeral: A decision that was made before stands. This run has ended.'
    expect(texts).toEqual(['chat.update: Approved by <@U1>', refusal, refusal])
  })

  test.each([
    ['whose signature is wrong', { secret: 'another' }, 401],
    ['that is older than five minutes', { ageMs: -301_000 }, 401],
    ['of another workspace', { team: 'T2' }, 200],
    ['of somebody who is no approver', { user: 'U9' }, 200],
    ['of somebody with the name of a member of all objects', { user: '__proto__' }, 200],
    ['of a key without the scope', { user: 'U3' }, 200],
    ['of a key that has expired', { user: 'U4' }, 200],
    ['of a key of another tenant', { user: 'U5' }, 200],
    ['of a key that is gone', { user: 'U7' }, 200],
    ['with the buttons of another group', { group: 'other' }, 200],
    ['for a group that there is not', { group: 'none' }, 404],
    ['without a token', { token: '' }, 200],
  ])('%s decides nothing', async (_, from, status) => {
    const { message, click, record, run, decisions, paid } = await waiting()
    expect((await click(message, 'approve', from)).status).toBe(status)
    expect((await record(run)).status).toBe('waiting')
    expect([await decisions(run), paid]).toEqual([[], []])
    // The call still waits for those who may.
    await click(message, 'approve')
    expect((await record(run)).status).toBe('completed')
  })

  test('of a disabled key decides nothing', async () => {
    const { message, click, record, run, slackCalls } = await waiting({ disabled: ['bo'] })
    await click(message, 'approve', { user: 'U2' })
    expect((await record(run)).status).toBe('waiting')
    expect(slackCalls[1]).toMatchObject({ method: 'chat.postEphemeral', body: { channel: 'C1', user: 'U2' } })
  })

  test('of the one who asked decides nothing with FOUR_EYES, and does without', async () => {
    const strict = await waiting({ vars: { FOUR_EYES: 'on' } })
    await strict.click(strict.message, 'approve', { user: 'U6' })
    expect((await strict.record(strict.run)).status).toBe('waiting')
    expect(strict.slackCalls[1]).toMatchObject({ method: 'chat.postEphemeral', body: { user: 'U6' } })
    await strict.click(strict.message, 'approve')
    expect((await strict.record(strict.run)).status).toBe('completed')
    const loose = await waiting()
    await loose.click(loose.message, 'approve', { user: 'U6' })
    expect((await loose.record(loose.run)).status).toBe('completed')
  })

  test('with a token that was changed anywhere decides nothing', async () => {
    const { message, click, record, run, paid } = await waiting()
    const token = buttonsOf(message)['approve'] ?? ''
    for (let at = 0; at < token.length; at += 1) {
      const other = token.charAt(at) === 'A' ? 'B' : 'A'
      await click(message, 'approve', { token: token.slice(0, at) + other + token.slice(at + 1) })
    }
    expect([(await record(run)).status, paid]).toEqual(['waiting', []])
  })

  test('on another button of the app is nothing for the edge', async () => {
    const { message, send, record, run, click } = await waiting()
    expect((await send('/approvers/finance', { method: 'POST', body: '{}' })).status).toBe(401)
    await click({ ...message, body: { blocks: [] } }, 'approve', { token: 'x' })
    expect((await record(run)).status).toBe('waiting')
  })
})

const right = (at: { run: string; call: string }, others: object = {}) => ({
  ...{ tenant: 'acme', conversation: 'c', run: at.run, call: at.call, group: 'board', key: 'ann' },
  ...{ arguments: '', expires: Date.now() + 60_000, ...others },
})
const tokenOf = async (value: object) => {
  const payload = Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${payload}.${await signer.sign(payload)}`
}

interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** An edge whose people are asked by mail, and a run that waits for them. */
async function mailed(options: Parameters<typeof askingEdge>[1] = {}, refused = '') {
  const mails: Mail[] = []
  const MAIL = {
    send: async (mail: Mail) => {
      if (mail.to === refused) throw new Error(`${mail.to} is not verified`)
      mails.push(mail)
    },
  }
  const people = {
    'ann@example.com': 'ann',
    'bo@example.com': 'bo',
    'reader@example.com': 'reader',
    'me@example.com': 'program',
  }
  const board = mailApprovers({ binding: 'MAIL', from: 'edge@example.com', people })
  const edge = askingEdge({ board }, { policies: () => ['board'], ...options, env: { MAIL } })
  const { run, calls } = await edge.start()
  const linkOf = (to: string) =>
    new URL(/https:\S+/.exec(mails.find((mail) => mail.to === to)?.text ?? '')?.[0] ?? '').pathname
  const decide = (path: string, fields: Record<string, string>) =>
    edge.send(path, { method: 'POST', body: new URLSearchParams(fields) })
  return { ...edge, mails, run, call: calls[0] ?? '', linkOf, decide }
}

describe('a link in a mail', () => {
  test('is sent to each person who may decide, by an own mail that says little', async () => {
    const { mails, linkOf } = await mailed()
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([
      ['ann@example.com', 'Approve pay?'],
      ['bo@example.com', 'Approve pay?'],
      ['me@example.com', 'Approve pay?'],
    ])
    expect(mails[0]?.text).toContain(`${EDGE}/approvers/board/`)
    expect(mails[0]?.text).not.toContain('Eve')
    expect(linkOf('ann@example.com')).not.toBe(linkOf('bo@example.com'))
    const strict = await mailed({ vars: { FOUR_EYES: 'on' } })
    expect(strict.mails.map(({ to }) => to)).toEqual(['ann@example.com', 'bo@example.com'])
  })

  test('is sent to the others, once, if an address takes no mail', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const { mails, own, reports } = await mailed({}, 'ann@example.com')
      vi.setSystemTime(Date.now() + 60_000)
      await own.settle()
      expect(mails.map(({ to }) => to)).toEqual(['bo@example.com', 'me@example.com'])
      const fault = { event: 'report.failed', reporter: 'approvers', detail: 'ann@example.com is not verified' }
      expect(reports).toMatchObject([fault, fault])
    } finally {
      vi.useRealTimers()
    }
  })

  test('opens a page that shows the whole call, and decides nothing, however often a program opens it', async () => {
    const script = [ask(['pay', { to: '</pre><script>x</script>', note: 'a\u202eb' }]), say('Paid.')]
    const { send, linkOf, record, run, paid } = await mailed({ script })
    const link = linkOf('ann@example.com')
    const page = await send(link)
    const text = await page.text()
    expect(page.status).toBe(200)
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    })
    for (const part of [
      'Pay &lt;b&gt; (pay)',
      'Pays somebody &amp; tells them.',
      '&lt;/pre&gt;&lt;script&gt;',
      'a\\u202eb',
      '<dd>program</dd>',
      '<dd>ann</dd>',
    ])
      expect(text).toContain(part)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT']) await send(link, { method })
    expect([(await record(run)).status, paid]).toEqual(['waiting', []])
  })

  test('approves the call by the button of its page, once', async () => {
    const { decide, send, linkOf, record, run, paid, decisions } = await mailed()
    const link = linkOf('ann@example.com')
    expect((await decide(link, {})).status).toBe(400)
    expect((await decide(link, { decision: 'yes' })).status).toBe(400)
    expect((await record(run)).status).toBe('waiting')
    const done = await decide(link, { decision: 'approve' })
    expect([done.status, (await done.text()).includes('The call is approved')]).toEqual([200, true])
    expect(await record(run)).toMatchObject({ status: 'completed', answer: 'Paid.' })
    const nextAnswer = await decide(link, { decision: 'approve' })
    expect([nextAnswer.status, (await nextAnswer.text()).match(/<h1>.*<\/h1>/)?.[0]]).toEqual([
      409,
      '<h1>A decision that was made before stands</h1>',
    ])
    expect((await decide(linkOf('bo@example.com'), { decision: 'reject' })).status).toBe(409)
    expect((await send(link)).status).toBe(404)
    expect(paid).toHaveLength(1)
    expect(await decisions(run)).toMatchObject([{ decision: 'approve', by: 'ann' }])
  })

  test('rejects it with a reason, which the model is told', async () => {
    const { decide, linkOf, record, run, paid, own } = await mailed()
    await decide(linkOf('bo@example.com'), { decision: 'reject', reason: ' Not to Eve. ' })
    await record(run)
    expect(paid).toEqual([])
    expect(JSON.stringify(own.requests.at(-1)?.messages)).toContain('A person refused this call: Not to Eve.')
  })

  test('counts for its call, arguments, group, person and time alone', async () => {
    const at = await mailed()
    const { decide, send, record, run, own, call } = at
    const pending: any = await (
      await own.fetch(`/conversations/c/runs/${run}/calls/${call}`, { headers: bearer('ann') })
    ).json()
    const good = right(at, { arguments: pending.argumentsHash })
    const statusOf = async (value: object, group = 'board') => {
      const path = `/approvers/${group}/${await tokenOf(value)}`
      return [(await send(path)).status, (await decide(path, { decision: 'approve' })).status]
    }
    expect(await statusOf({ ...good, arguments: '00' })).toEqual([409, 409])
    expect(await statusOf({ ...good, call: 'call_x' })).toEqual([404, 404])
    expect(await statusOf({ ...good, run: 'run_x' })).toEqual([404, 404])
    expect(await statusOf({ ...good, conversation: 'd' })).toEqual([404, 404])
    expect(await statusOf({ ...good, tenant: 'other' })).toEqual([403, 403])
    expect(await statusOf({ ...good, group: 'finance' })).toEqual([404, 404])
    expect(await statusOf({ ...good, key: 'reader' })).toEqual([403, 403])
    // What a service is sent is nobody's link.
    expect(await statusOf({ ...good, key: '' })).toEqual([403, 403])
    expect(await statusOf({ ...good, expires: Date.now() - 1 })).toEqual([410, 410])
    const link = at.linkOf('ann@example.com')
    for (let index = '/approvers/board/'.length; index < link.length; index += 7) {
      const changed = link.slice(0, index) + (link.charAt(index) === 'A' ? 'B' : 'A') + link.slice(index + 1)
      const headers = { 'cf-connecting-ip': `192.0.2.${index % 250}` }
      expect(
        (await send(changed, { method: 'POST', headers, body: new URLSearchParams({ decision: 'approve' }) })).status,
      ).toBe(404)
    }
    expect((await record(run)).status).toBe('waiting')
    expect(await statusOf(good)).toEqual([200, 200])
    expect((await record(run)).status).toBe('completed')
  })

  test('cannot be guessed often', async () => {
    const { send } = await mailed()
    const guess = () => send('/approvers/board/x.y', { headers: { 'cf-connecting-ip': '192.0.2.1' } })
    for (let count = 0; count < 300; count += 1) expect((await guess()).status).toBe(404)
    expect((await guess()).status).toBe(429)
  })
})

test('what a tool asks for later is not answered by the approval of its call', async () => {
  const question = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object' } } }
  const runs: unknown[] = []
  const pay = (_: unknown, { input }: { input?: unknown }) => {
    runs.push(input)
    if (input) return 'paid'
    const error = { code: 'input_required', message: 'Nobody can be asked.' }
    return { ok: false, error, input: { requests: { account: question } } }
  }
  const { message, click, record, run, call, own, slackCalls } = await waiting({ pay })
  await click(message, 'approve')
  expect(await record(run)).toMatchObject({ status: 'waiting' })
  const pending: any = await (
    await own.fetch(`/conversations/c/runs/${run}/calls/${call}`, { headers: bearer('ann') })
  ).json()
  expect(pending.input.requests).toEqual({ account: question })
  // Nobody is asked in Slack for more than a yes, and the yes of before does not count for it.
  await click(message, 'approve')
  expect([(await record(run)).status, runs]).toEqual(['waiting', [undefined]])
  expect(slackCalls.slice(1).map(({ method, body }) => `${method}: ${body.text}`)).toEqual([
    'chat.update: Approved by <@U1>',
    'chat.update: Nothing was decided here: The call is not the one that you were asked about.',
  ])
})
