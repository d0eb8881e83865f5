import { afterEach, describe, expect, test, vi } from 'vitest'
import { AnswerLedger } from '../../src/directory/answer-ledger.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import { tool } from '../fixtures/play.ts'
import { type ControlledEdge, controlledEdge } from './controlled-edge.ts'

/** What programs may do with the questions of tools and with approvals, over `/mcp`. */

const PREFIX = 'io.modelcontextprotocol/'
const NEWEST = '2026-07-28'
const PERSON = 'acme: chat tools:read approve'
const PROGRAM = 'acme: chat tools:read'
const OTHER = 'other: chat tools:read approve'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const sure = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object' } } }

/** An edge with a tool that asks, one that asks for other input, and one that needs approval; and what they have done. */
function bank(vars: Record<string, unknown> = {}, definition: Partial<ToolDefinition> = { approval: 'always' }) {
  const payments: string[] = []
  const questioner = (name: string) =>
    tool(name, ({ n }, { input }) => {
      if (input?.responses['sure']?.['action'] !== 'accept') {
        const error = { code: 'input_required', message: 'Nobody can be asked.' }
        return { ok: false, error, input: { requests: { sure }, state: 'half' } }
      }
      payments.push(`${name} ${String(n)} ${input.state}`)
      return 'paid'
    })
  const pay = tool(
    'pay',
    ({ n }) => {
      payments.push(`pay ${String(n)}`)
      return 'paid'
    },
    definition,
  )
  const edge = controlledEdge({
    workers: { TOOL_BANK: [questioner('ask'), questioner('other'), pay] },
    keys: [PERSON, PROGRAM, OTHER],
    vars: { OUTCOME_SECRET: 'a secret of the deployment', ...vars },
  })
  return { payments, edge, call: calls(edge) }
}

interface Options {
  readonly key?: string
  readonly capabilities?: object
  readonly answers?: object
  readonly requestState?: unknown
}

/** Calls a tool over `/mcp` as a client of the newest revision does. Returns the JSON-RPC response. */
function calls({ as }: ControlledEdge) {
  return async (name: string, args: object, options: Options = {}): Promise<Record<string, any>> => {
    const { key = PERSON, capabilities = { elicitation: {} }, answers, requestState } = options
    const meta = { [`${PREFIX}protocolVersion`]: NEWEST, [`${PREFIX}clientCapabilities`]: capabilities }
    const params = { name, arguments: args, _meta: meta, inputResponses: answers, requestState }
    const headers = { 'mcp-protocol-version': NEWEST, 'mcp-method': 'tools/call', 'mcp-name': name }
    const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const { status, body } = await as(key)('/mcp', { json, headers })
    return { status, ...body }
  }
}

const ACCEPT = { sure: { action: 'accept' } }
const APPROVE = { approval: { action: 'accept' } }
const INVALID = {
  error: { code: -32602, message: 'This requestState is of another call or too old: call without it.' },
}

/** Changes a character in the middle of the payload or of the signature. */
function changed(state: string, part: 0 | 1): string {
  const parts = state.split('.')
  const text = parts[part] ?? ''
  const at = Math.floor(text.length / 2)
  parts[part] = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
  return parts.join('.')
}

describe('the question of a tool', () => {
  test('is answered by a key that may approve, with the state of the question', async () => {
    const { call, payments } = bank()
    const { result } = await call('ask', { n: 1 })
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { sure } })
    const { requestState } = result
    expect(await call('ask', { n: 1 }, { answers: ACCEPT, requestState })).toMatchObject({
      result: { content: [{ text: 'paid' }] },
    })
    expect(payments).toEqual(['ask 1 half'])
  })

  test('is not put to a program that may not approve, which cannot answer it either', async () => {
    const { call, payments } = bank()
    expect(await call('ask', { n: 1 }, { key: PROGRAM })).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('the scope approve') }] },
    })
    const { requestState } = (await call('ask', { n: 1 })).result
    expect(await call('ask', { n: 1 }, { key: PROGRAM, answers: ACCEPT, requestState })).toMatchObject(INVALID)
    expect(payments).toEqual([])
  })

  test('has no answer that nobody asked for', async () => {
    const { call, payments } = bank()
    for (const key of [PERSON, PROGRAM]) {
      const { result } = await call('ask', { n: 1 }, { key, answers: ACCEPT })
      expect(result.resultType === 'input_required' || result.isError).toBe(true)
    }
    expect(await call('ask', { n: 1 }, { answers: ACCEPT, requestState: 'half' })).toMatchObject(INVALID)
    expect(payments).toEqual([])
  })

  test.each<[string, (state: string) => [string, object, Options]]>([
    ['another tool', (requestState) => ['other', { n: 1 }, { requestState }]],
    ['other arguments', (requestState) => ['ask', { n: 2 }, { requestState }]],
    ['another tenant', (requestState) => ['ask', { n: 1 }, { requestState, key: OTHER }]],
    ['another key', (requestState) => ['ask', { n: 1 }, { requestState, key: PROGRAM }]],
    ['a state that was changed', (state) => ['ask', { n: 1 }, { requestState: changed(state, 0) }]],
    ['a signature that was changed', (state) => ['ask', { n: 1 }, { requestState: changed(state, 1) }]],
  ])('is not answered for %s', async (_, change) => {
    const { call, payments } = bank()
    const [name, args, options] = change((await call('ask', { n: 1 })).result.requestState)
    expect(await call(name, args, { answers: ACCEPT, ...options })).toMatchObject(INVALID)
    expect(payments).toEqual([])
  })

  test('is open for an hour', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { call, payments } = bank()
    const { requestState } = (await call('ask', { n: 1 })).result
    vi.setSystemTime(Date.now() + 3_600_001)
    expect(await call('ask', { n: 1 }, { answers: ACCEPT, requestState })).toMatchObject(INVALID)
    expect(payments).toEqual([])
  })
})

describe('the answer of a person', () => {
  const spelt = (state: string) => {
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const at = last.indexOf(state.at(-1) ?? '')
    return `${state.slice(0, -1)}${last[at % 4 === 3 ? at - 1 : at + 1]}`
  }

  test.each<[string, object, string]>([
    ['pay', APPROVE, 'pay 1'],
    ['ask', ACCEPT, 'ask 1 half'],
  ])(
    'counts for one call of “%s”: the same request again gets what the first was answered with',
    async (name, answers, payment) => {
      const { call, payments } = bank()
      const { requestState } = (await call(name, { n: 1 })).result
      const replies = await Promise.all(
        Array.from({ length: 3 }, () => call(name, { n: 1 }, { answers, requestState })),
      )
      expect(replies).toEqual(Array.from({ length: 3 }, () => replies[0]))
      // The same signature in another spelling, which an edge does not write.
      const other = await call(name, { n: 1 }, { answers, requestState: spelt(requestState) })
      expect(other).toMatchObject(INVALID)
      expect(replies[0]).toMatchObject({ result: { content: [{ text: 'paid' }] } })
      expect(payments).toEqual([payment])
      // It can be asked for again.
      const next = (await call(name, { n: 1 })).result
      await call(name, { n: 1 }, { answers, requestState: next.requestState })
      expect(payments).toEqual([payment, payment])
    },
  )

  test('counts once, too, where the call then asks for more', async () => {
    const { call, payments } = bank({ TOOL_POLICY: { ask: { approval: 'always' } } })
    const { requestState } = (await call('ask', { n: 1 })).result
    const approve = async () => (await call('ask', { n: 1 }, { answers: APPROVE, requestState })).result.requestState
    const states = [await approve(), await approve()]
    expect(states[0]).toBe(states[1])
    for (const state of states) await call('ask', { n: 1 }, { answers: ACCEPT, requestState: state })
    expect(payments).toEqual(['ask 1 half'])
  })

  test('is used up by a call whose outcome is not known', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
    const { call, payments } = bank()
    const { requestState } = (await call('pay', { n: 1 })).result
    vi.spyOn(AnswerLedger.prototype, 'settle').mockImplementation(() => {
      throw new Error('The object is gone.')
    })
    await call('pay', { n: 1 }, { answers: APPROVE, requestState })
    const replies: object[] = []
    void call('pay', { n: 1 }, { answers: APPROVE, requestState }).then((reply) => replies.push(reply))
    while (replies.length === 0) {
      await vi.advanceTimersByTimeAsync(1000)
      await new Promise((resolve) => void setImmediate(resolve))
    }
    expect(replies[0]).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('once') }] },
    })
    expect(payments).toEqual(['pay 1'])
  })
})

describe('an approval, over /mcp', () => {
  test('shows what its call would hide from the person', async () => {
    const { result } = await bank().call('pay', { n: 1, to: 'Ada\u202e\u2066\u200b\u001b[2J' })
    expect(result.inputRequests.approval.params.message).toBe(
      String.raw`Allow the call of "pay" with {"n":1,"to":"Ada\u202e\u2066\u200b\u001b[2J"}?`,
    )
  })

  test('is asked of a client that can ask, and given by a key that may approve', async () => {
    const { call, payments } = bank()
    const { result } = await call('pay', { n: 1 })
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        approval: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Allow the call of "pay" with {"n":1}?',
            requestedSchema: { type: 'object', properties: {} },
          },
        },
      },
    })
    const { requestState } = result
    expect(await call('pay', { n: 2 }, { answers: APPROVE, requestState })).toMatchObject(INVALID)
    const { requestState: other } = (await call('pay', { n: 1 })).result
    for (const answers of [{ approval: { action: 'decline' } }, APPROVE])
      expect(await call('pay', { n: 1 }, { answers, requestState: other })).toMatchObject({
        result: { isError: true, content: [{ text: 'A person refused this call.' }] },
      })
    expect(payments).toEqual([])
    expect(await call('pay', { n: 1 }, { answers: APPROVE, requestState })).toMatchObject({
      result: { content: [{ text: 'paid' }] },
    })
    expect(payments).toEqual(['pay 1'])
  })

  test.each<[string, Options, Record<string, unknown>]>([
    ['that may not approve', { key: PROGRAM }, {}],
    ['whose client cannot ask', { capabilities: {} }, {}],
    ['where somebody else has to approve', {}, { FOUR_EYES: 'on' }],
    ['of an edge that signs nothing', {}, { OUTCOME_SECRET: undefined }],
  ])('is refused to a key %s, whatever it answers', async (_, options, vars) => {
    const { call, payments } = bank(vars)
    const { requestState } = (await call('ask', { n: 1 })).result
    for (const answer of [{}, { answers: APPROVE }, { answers: { ...APPROVE, ...ACCEPT }, requestState }]) {
      const { result, error } = await call('pay', { n: 1 }, { ...options, ...answer })
      expect(result?.isError === true || error !== undefined).toBe(true)
    }
    expect(payments).toEqual([])
  })

  test('is not given by the answer to a question of the tool', async () => {
    const { call, payments } = bank({ TOOL_POLICY: { ask: { approval: 'always' } } })
    const first = (await call('ask', { n: 1 })).result
    expect(Object.keys(first.inputRequests)).toEqual(['approval'])
    const second = (
      await call('ask', { n: 1 }, { answers: { ...APPROVE, ...ACCEPT }, requestState: first.requestState })
    ).result
    expect(Object.keys(second.inputRequests)).toEqual(['sure'])
    expect(payments).toEqual([])
    await call('ask', { n: 1 }, { answers: ACCEPT, requestState: second.requestState })
    expect(payments).toEqual(['ask 1 half'])
  })

  test('has the tools listed that always need it', async () => {
    const { edge } = bank()
    const unsigned = bank({ OUTCOME_SECRET: undefined }).edge
    const names = async (key: string, capabilities: object, { as } = edge) => {
      const meta = { [`${PREFIX}protocolVersion`]: NEWEST, [`${PREFIX}clientCapabilities`]: capabilities }
      const json = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }
      const headers = { 'mcp-protocol-version': NEWEST, 'mcp-method': 'tools/list' }
      const { body } = await as(key)('/mcp', { json, headers })
      return body.result.tools.map(({ name }: { name: string }) => name)
    }
    expect(await names(PERSON, { elicitation: {} })).toEqual(['ask', 'other', 'pay'])
    // A client that asks nobody is told where a person decides.
    expect(await names(PERSON, {})).toEqual(['ask', 'other', 'pay'])
    expect(await names(PROGRAM, { elicitation: {} })).toEqual(['ask', 'other', 'pay'])
    expect(await names(PERSON, { elicitation: {} }, unsigned)).toEqual(['ask', 'other'])
  })
})
