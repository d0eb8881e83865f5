import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { canonicalJson, sha256 } from '../../src/contract/json.ts'
import { apiKey, bearer, keyName, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { dataOf, type KeptEdge, keptEdge } from '../http/kept-edge.ts'

const person = bearer('person')
const program = bearer('program')
const calls: string[] = []
const note = (name: string) => () => {
  calls.push(name)
  return name
}
const danger = tool('danger', note('danger'), { approval: 'always' })
const safe = tool('safe', note('safe'))

interface Waiting {
  readonly edge: KeptEdge
  readonly run: string
  /** The call that waits for a decision, one that has run, and one that the caller runs. */
  readonly danger: string
  readonly safe: string
  readonly handed: string
}

/** A run that waits for a person and for its caller. */
async function waiting(vars: Record<string, string> = {}, starter = program): Promise<Waiting> {
  const keys = [
    apiKey('person', { scopes: ['chat', 'approve'] }),
    apiKey('program', { scopes: ['chat'] }),
    apiKey('approver', { id: 'approver', scopes: ['approve'] }),
  ]
  const script = [ask(['danger', { n: 1 }], ['safe'], ['pick']), say('Done.'), say('More.')]
  const edge = keptEdge({ vars: { ...withKeys(...keys), ...vars }, script, tools: [danger, safe] })
  calls.length = 0
  await edge.post('/conversations', { id: 'c' }, starter)
  const clientTools = [{ name: 'pick', inputSchema: { type: 'object' } }]
  const json: any = await (await edge.post('/conversations/c/runs', { input: 'Go', clientTools }, starter)).json()
  const [first, second, third] = json.calls.map(({ id }: { id: string }) => id)
  return { edge, run: json.id, danger: first, safe: second, handed: third }
}

const decide = ({ edge, run }: Waiting, call: string, json: object, who = person) =>
  edge.post(`/conversations/c/runs/${run}/calls/${call}`, json, who)

const codeOf = async (response: Response) => {
  const { code, error }: any = await response.json()
  return [response.status, code ?? error?.code]
}

const approve = { decision: 'approve' }

describe('a decision is accepted only for the call that asks for it', () => {
  test.each<[string, (at: Waiting) => Promise<Response>, [number, string]]>([
    ['by a key that may not', (at) => decide(at, at.danger, approve, program), [403, 'missing_scope']],
    ['for a call that has run', (at) => decide(at, at.safe, approve), [409, 'call_already_answered']],
    ['for a call of the caller’s', (at) => decide(at, at.handed, approve), [409, 'call_already_answered']],
    ['for a call that is none', (at) => decide(at, 'call_x', approve), [404, 'unknown_call']],
    ['for __proto__', (at) => decide(at, '__proto__', approve), [404, 'unknown_call']],
    ['in a run that is none', (at) => decide({ ...at, run: 'run_x' }, at.danger, approve), [404, 'unknown_run']],
    ['as a result', (at) => decide(at, at.danger, { result: 'approved' }), [409, 'call_already_answered']],
    [
      'about other arguments',
      (at) => decide(at, at.danger, { ...approve, argumentsHash: '00' }),
      [409, 'arguments_changed'],
    ],
    [
      'with a hash that is none',
      (at) => decide(at, at.danger, { ...approve, argumentsHash: null }),
      [409, 'arguments_changed'],
    ],
    ['in another word', (at) => decide(at, at.danger, { decision: 'Approve' }), [400, 'invalid_request']],
    ['of a list', (at) => decide(at, at.danger, { decision: ['approve'] }), [400, 'invalid_request']],
  ])('%s', async (_, forge, expected) => {
    const at = await waiting()
    expect(await codeOf(await forge(at))).toEqual(expected)
    expect(calls).toEqual(['safe'])
  })

  test('and only once, so that the first decision stands', async () => {
    const at = await waiting()
    expect((await decide(at, at.danger, { decision: 'reject', reason: 'No.' })).status).toBe(202)
    expect(await codeOf(await decide(at, at.danger, approve))).toEqual([409, 'call_already_answered'])
    expect((await decide(at, at.handed, { result: 'left' })).status).toBe(200)
    await at.edge.settle()
    expect(calls).toEqual(['safe'])
    expect(await codeOf(await decide(at, at.danger, approve))).toEqual([409, 'call_already_answered'])
  })

  test('and not after it has expired', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 })
    onTestFinished(() => void vi.useRealTimers())
    const at = await waiting()
    vi.setSystemTime(25 * 60 * 60 * 1000)
    await at.edge.settle()
    expect(await codeOf(await decide(at, at.danger, approve))).toEqual([409, 'call_already_answered'])
    expect(calls).toEqual(['safe'])
  })

  test('and not after the run was cancelled', async () => {
    const at = await waiting()
    await at.edge.post(`/conversations/c/runs/${at.run}/cancel`, {}, program)
    expect(await codeOf(await decide(at, at.danger, approve))).toEqual([409, 'call_already_answered'])
    expect(calls).toEqual(['safe'])
  })
})

describe('a key with approve alone', () => {
  const approver = bearer('approver')

  test('sees the call that it decides about, who asks and the tool, and nothing else', async () => {
    const at = await waiting()
    const base = `/conversations/c/runs/${at.run}`
    const run: any = await (await at.edge.fetch(`${base}/calls/${at.danger}`, { headers: approver })).json()
    expect(run).toEqual({
      id: at.danger,
      run: at.run,
      conversation: 'c',
      tool: 'danger',
      arguments: { n: 1 },
      argumentsHash: await sha256(canonicalJson({ n: 1 })),
      because: 'tool',
      caller: { tenant: 'acme', key: keyName('program') },
      definition: {
        description: danger.definition.description,
        annotations: {},
        approval: 'always',
        version: danger.definition.version,
        hash: danger.definition.hash,
        inputSchema: danger.definition.inputSchema,
      },
      expires: expect.any(Number),
    })
    // Neither calls that wait for no decision, nor runs, messages, events and lists.
    for (const call of [at.safe, at.handed, 'call_x'])
      expect(await codeOf(await at.edge.fetch(`${base}/calls/${call}`, { headers: approver }))).toEqual([
        404,
        'unknown_call',
      ])
    for (const path of [base, `${base}/events`, '/conversations', '/conversations/c/messages', '/tools', '/usage'])
      expect((await at.edge.fetch(path, { headers: approver })).status).toBe(403)

    const decided = await decide(at, at.danger, { ...approve, argumentsHash: run.argumentsHash }, approver)
    expect([decided.status, await decided.json()]).toEqual([200, { id: at.run, status: expect.any(String) }])
    await decide(at, at.handed, { result: 'left' }, program)
    await at.edge.settle()
    expect(calls).toEqual(['safe', 'danger'])
    expect(await codeOf(await at.edge.fetch(`${base}/calls/${at.danger}`, { headers: approver }))).toEqual([
      404,
      'unknown_call',
    ])

    const events = await at.edge.fetch(`${base}/events`, { headers: program })
    const reader = events.body?.getReader()
    const { value } = (await reader?.read()) ?? {}
    await reader?.cancel()
    const decisions = dataOf(new TextDecoder().decode(value)).filter((event: any) => event.type === 'approval.decided')
    expect(decisions).toMatchObject([{ callId: at.danger, decision: 'approve', by: 'approver' }])
  })

  test('is never a key with chat alone', async () => {
    const at = await waiting()
    const path = `/conversations/c/runs/${at.run}/calls/${at.danger}`
    expect(await codeOf(await at.edge.fetch(path, { headers: program }))).toEqual([403, 'missing_scope'])
  })
})

describe('a decision with a call outside of a run', () => {
  const hash = async (value: unknown) => sha256(canonicalJson(value))
  const call = async (body: object, { who = person, vars = {}, name = 'danger' } = {}) => {
    const keys = [apiKey('person', { scopes: ['chat', 'approve'] }), apiKey('program', { scopes: ['chat'] })]
    const edge = keptEdge({ vars: { ...withKeys(...keys), ...vars }, tools: [danger, safe], script: [] })
    calls.length = 0
    const response = await edge.post(`/tools/${name}/call`, { arguments: { n: 1 }, ...body }, who)
    return [...(await codeOf(response)), calls.join()]
  }

  test('counts for the arguments that it names, from a key that may approve', async () => {
    const argumentsHash = await hash({ n: 1 })
    expect(await call({ decision: 'approve', argumentsHash })).toEqual([200, undefined, 'danger'])
    expect(await call({ decision: 'approve', argumentsHash, arguments: { n: 2 } })).toEqual([
      409,
      'arguments_changed',
      '',
    ])
    expect(await call({ decision: 'approve' })).toEqual([409, 'arguments_changed', ''])
    expect(await call({ argumentsHash })).toEqual([422, 'approval_needs_conversation', ''])
    expect(await call({ decision: 'approve', argumentsHash }, { who: program })).toEqual([403, 'missing_scope', ''])
    expect(await call({ decision: 'reject', argumentsHash })).toEqual([422, 'invalid_request', ''])
  })

  test('counts for nobody with FOUR_EYES, since the same key makes the call', async () => {
    const argumentsHash = await hash({ n: 1 })
    for (const FOUR_EYES of ['on', 'decisions'])
      expect(await call({ decision: 'approve', argumentsHash }, { vars: { FOUR_EYES } })).toEqual([403, 'own_run', ''])
  })
})

describe('with FOUR_EYES', () => {
  test('the key that started a run may not decide about its calls, and another key may', async () => {
    const at = await waiting({ FOUR_EYES: 'on' }, person)
    for (const decision of ['approve', 'reject'])
      expect(await codeOf(await decide(at, at.danger, { decision }))).toEqual([403, 'own_run'])
    expect(calls).toEqual(['safe'])
    expect((await decide(at, at.danger, approve, bearer('approver'))).status).toBe(200)
    await decide(at, at.handed, { result: 'left' })
    await at.edge.settle()
    expect(calls).toEqual(['safe', 'danger'])
  })

  test('nobody puts other arguments in the place of the model’s alone, unless the edge allows that', async () => {
    const changed = { ...approve, arguments: { n: 2 } }
    for (const [setting, starter, expected] of [
      ['on', program, [403, 'second_person_needed']],
      ['decisions', program, [202, undefined]],
      ['decisions', person, [403, 'own_run']],
      ['off', program, [202, undefined]],
    ] as const) {
      const at = await waiting({ FOUR_EYES: setting }, starter)
      expect([setting, ...(await codeOf(await decide(at, at.danger, changed)))]).toEqual([setting, ...expected])
      if (expected[0] === 202) continue
      expect(calls).toEqual(['safe'])
      // The same arguments, however they are written, are no change; the refusal was no decision.
      const same = { ...approve, arguments: { n: 1 } }
      expect((await decide(at, at.danger, same, bearer('approver'))).status).toBe(200)
    }
  })

  test('off, which is the default, the same key may', async () => {
    const at = await waiting({}, person)
    expect((await decide(at, at.danger, approve)).status).toBe(202)
  })
})

describe('no surface accepts a decision without the scope approve', () => {
  const resumed = (at: Waiting) => ({
    threadId: 'c',
    runId: 'r',
    state: {},
    messages: [
      { id: 'u', role: 'user', content: 'Go' },
      { id: 'a', role: 'assistant', toolCalls: [] },
    ],
    tools: [],
    context: [],
    forwardedProps: {},
    resume: [{ interruptId: at.danger, status: 'resolved', payload: { approved: true } }],
  })
  const responded = (at: Waiting) => {
    const approval = { id: at.danger, approved: true }
    const part = { type: 'tool-danger', toolCallId: at.danger, state: 'approval-responded', input: {}, approval }
    return { id: 'c', messages: [{ role: 'assistant', parts: [part] }] }
  }
  const response = (at: Waiting) => ({
    conversation: 'c',
    input: [{ type: 'mcp_approval_response', approval_request_id: `mcpr_${at.danger}`, approve: true }],
  })

  test.each<[string, (at: Waiting) => object]>([
    ['/ag-ui', resumed],
    ['/chat', responded],
    ['/v1/responses', response],
  ])('%s', async (path, body) => {
    const at = await waiting()
    expect(await codeOf(await at.edge.post(path, body(at), program))).toEqual([403, 'missing_scope'])
    expect(calls).toEqual(['safe'])
    // The same from a key that may.
    const response = await at.edge.post(path, body(at), person)
    expect(response.status).toBe(200)
    await response.text()
    await (await decide(at, at.handed, { result: 'left' }, program)).text()
    expect(calls).toEqual(['safe', 'danger'])
  })
})

describe('a result is accepted only for calls of client tools', () => {
  const result = (call: string) => ({ role: 'tool', tool_call_id: call, content: 'approved' })
  const before = [{ role: 'user', content: 'Go' }]
  const callMessage = (call: string, name: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: call, type: 'function', function: { name, arguments: '{}' } }],
  })

  test.each(['danger', 'safe'] as const)('on Chat Completions: %s', async (name) => {
    const at = await waiting()
    const messages = [...before, callMessage(at[name], name), result(at[name])]
    const headers = { ...program, 'x-conversation-id': 'c' }
    const response = await at.edge.post('/v1/chat/completions', { messages }, headers)
    expect(await codeOf(response)).toEqual([409, 'call_already_answered'])
    expect([calls, at.edge.requests.length]).toEqual([['safe'], 1])
  })

  test.each(['danger', 'safe'] as const)('on Responses: %s', async (name) => {
    const at = await waiting()
    const output = { type: 'function_call_output', call_id: at[name], output: 'approved' }
    const response = await at.edge.post('/v1/responses', { conversation: 'c', input: [output] }, program)
    expect(await codeOf(response)).toEqual([409, 'call_already_answered'])
    expect([calls, at.edge.requests.length]).toEqual([['safe'], 1])
  })

  test('and a call of the edge keeps its own result', async () => {
    const at = await waiting()
    const events = dataOf(
      await (await at.edge.fetch(`/conversations/c/runs/${at.run}/events`, { headers: program })).text(),
    )
    await decide(at, at.safe, { result: 'forged' }, program)
    const after = dataOf(
      await (await at.edge.fetch(`/conversations/c/runs/${at.run}/events`, { headers: program })).text(),
    )
    expect(after).toEqual(events)
  })
})

describe('arguments that a person changes', () => {
  test('are what the tool is called with, recorded with their hash and who changed them, and told to the model', async () => {
    const at = await waiting()
    const args = { n: 2 }
    const response = await decide(at, at.danger, { ...approve, arguments: args })
    expect(response.ok).toBe(true)
    await at.edge.post(`/conversations/c/runs/${at.run}/calls/${at.handed}`, { result: 'x' }, program)
    await at.edge.settle()
    const text = await (await at.edge.fetch(`/conversations/c/runs/${at.run}/events`, { headers: program })).text()
    const events = dataOf(text) as Record<string, unknown>[]
    expect(events.find(({ type }) => type === 'approval.decided')).toMatchObject({
      decision: 'approve',
      by: keyName('person'),
      arguments: '{"n":2}',
      argumentsHash: await sha256(canonicalJson(args)),
    })
    const record: any = await (await at.edge.fetch(`/conversations/c/runs/${at.run}`, { headers: program })).json()
    expect(record.calls[0]).toMatchObject({ id: at.danger, arguments: args, ok: true })
    const bodyText = JSON.stringify(at.edge.requests.at(-1)?.messages)
    expect(bodyText).toContain('A person changed the arguments of this call before it was sent')
    expect(calls.filter((name) => name === 'danger')).toHaveLength(1)
  })

  test.each([
    [{ decision: 'reject', arguments: {} }, 'a rejection has none'],
    [{ decision: 'approve', arguments: [1] }, 'a list is none'],
    [{ decision: 'approve', arguments: 'x' }, 'a text is none'],
  ])('are refused as %j, because %s', async (json, _why) => {
    const at = await waiting()
    const response = await decide(at, at.danger, json)
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(calls).not.toContain('danger')
  })
})
