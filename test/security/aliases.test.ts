import { describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Script } from '../fixtures/scripted.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge } from './controlled-edge.ts'

const WRITER = 'acme: chat tools:read tools:write mail'
const READER = 'acme: chat tools:read'
const OTHER = 'globex: chat tools:read tools:write'
const ADMIN = 'ops: chat tools:read tools:admin mail'
const KEYS = [WRITER, READER, OTHER, ADMIN]

const ALIAS = {
  description: 'Tells somebody.',
  inputSchema: { type: 'object' },
  binding: 'TOOL_MAIL',
  call: 'sendMail',
}

interface Options {
  readonly definition?: Partial<ToolDefinition>
  readonly policy?: object
  readonly script?: readonly Script[]
  readonly vars?: object
  readonly run?: () => unknown
}

function mailEdge({ definition = {}, policy = {}, script = [], vars = {}, run = () => 'sent' }: Options) {
  const deliveries: string[] = []
  const mail = tool(
    'sendMail',
    (args, { caller }) => {
      deliveries.push(`${caller.tenant} ${JSON.stringify(args)}`)
      return run()
    },
    definition,
  )
  const edge = controlledEdge({
    workers: { TOOL_MAIL: [mail], TOOL_CLOCK: [tool('now')] },
    keys: KEYS,
    script,
    vars: { TOOL_POLICY: policy, ...vars },
  })
  const put = (key: string, rest: object = {}) =>
    edge.as(key)('/tools/notify', { method: 'PUT', json: { ...ALIAS, ...rest } })
  return { ...edge, deliveries, put }
}

describe('an alias of a tool', () => {
  test('waits for the approval that the tool itself demands', async () => {
    const { as, put, deliveries } = mailEdge({ definition: { approval: 'always' } })
    expect((await put(WRITER, { approval: 'never' })).status).toBe(201)
    for (const name of ['sendMail', 'notify']) {
      const { status, body } = await as(WRITER)(`/tools/${name}/call`, { json: { arguments: {} } })
      expect([name, status, body.code]).toEqual([name, 422, 'approval_needs_conversation'])
    }
    expect(deliveries).toEqual([])
  })

  test.each([['sendMail'], ['@TOOL_MAIL'], ['#out']])(
    'waits for the approval that the policy of %s demands',
    async (key) => {
      const { as, put, deliveries } = mailEdge({
        definition: { tags: ['out'] },
        policy: { [key]: { approval: 'always' } },
      })
      expect((await put(WRITER)).status).toBe(201)
      const { status, body } = await as(WRITER)('/tools/notify/call', { json: { arguments: {} } })
      expect([status, body.code, deliveries]).toEqual([422, 'approval_needs_conversation', []])
    },
  )

  test('takes the stricter of both approvals', async () => {
    const { as, put } = mailEdge({ definition: { approval: { unless: { '/to': { like: ['*@acme.com'] } } } } })
    await put(WRITER, { approval: { unless: { '/size': { maximum: 10 } } } })
    const call = async (args: object) =>
      (await as(WRITER)('/tools/notify/call', { json: { arguments: args } })).body.code ?? 'sent'
    expect(await call({ to: 'a@acme.com', size: 1 })).toBe('sent')
    expect(await call({ to: 'a@acme.com', size: 11 })).toBe('approval_needs_conversation')
    expect(await call({ to: 'a@evil.com', size: 1 })).toBe('approval_needs_conversation')
  })

  test.each([[{ scopes: ['mail'] }], [{ tenants: ['acme', 'ops'] }]])(
    'is neither seen nor called by keys that may not call the tool: %j',
    async (policy) => {
      const { as, put, deliveries } = mailEdge({ policy: { sendMail: policy } })
      expect((await put(ADMIN)).status).toBe(201)
      const keyOutside = 'scopes' in policy ? READER : OTHER
      const names = (await as(keyOutside)('/tools')).body.map(({ name }: { name: string }) => name)
      expect(names).toEqual(['now'])
      expect((await as(keyOutside)('/tools/notify')).status).toBe(404)
      expect((await as(keyOutside)('/tools/notify/call', { json: { arguments: {} } })).status).toBe(404)
      expect(deliveries).toEqual([])
      const { body } = await as(WRITER)('/tools/notify/call', { json: { arguments: {} } })
      expect([body.ok, deliveries]).toEqual([true, ['acme {}']])
    },
  )

  test('is refused to an author who may not call the tool, with the answer for a tool that does not exist', async () => {
    const { put } = mailEdge({ policy: { sendMail: { scopes: ['mail'] } } })
    const hidden = await put(OTHER)
    const absent = await put(OTHER, { call: 'sendFax' })
    const foreign = await put(OTHER, { binding: 'TOOL_FAX' })
    expect(hidden.status).toBe(422)
    expect(JSON.stringify(hidden.body).replaceAll('sendMail', 'sendFax')).toBe(JSON.stringify(absent.body))
    expect(JSON.stringify(foreign.body).replaceAll('TOOL_FAX', 'TOOL_MAIL')).toBe(JSON.stringify(hidden.body))
  })

  test('counts towards the rate of the tool', async () => {
    const counted: string[] = []
    const rate = {
      limit: async ({ key }: { key: string }) => {
        counted.push(key)
        return { success: counted.length < 2 }
      },
    }
    const { as, put } = mailEdge({ policy: { sendMail: { rate: 'RATE_MAIL' } }, vars: { RATE_MAIL: rate } })
    await put(WRITER)
    const call = async (name: string) => (await as(WRITER)(`/tools/${name}/call`, { json: { arguments: {} } })).body
    expect(await call('notify')).toMatchObject({ ok: true })
    expect(await call('notify')).toMatchObject({ ok: false, error: { code: 'rate_limited' } })
    expect(counted).toEqual(['acme/sendMail', 'acme/sendMail'])
  })

  test('shares the concurrency of the tool within a run', async () => {
    let [running, most] = [0, 0]
    const { as, put } = mailEdge({
      policy: { sendMail: { concurrency: 1 } },
      script: [ask(['notify'], ['sendMail'], ['notify', { a: 1 }], ['sendMail', { a: 1 }]), say('Done.')],
      run: async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        return 'sent'
      },
    })
    await put(WRITER)
    const { body } = await as(WRITER)('/runs', { json: { input: 'Go', tools: ['notify', 'sendMail'] } })
    expect([body.calls.map(({ ok }: { ok: boolean }) => ok), most]).toEqual([[true, true, true, true], 1])
  })

  test('counts towards the limits of the tool in a run', async () => {
    const { as, put, deliveries } = mailEdge({
      script: [ask(['sendMail', { a: 1 }], ['notify', { a: 2 }], ['notify', { a: 3 }]), say('Done.')],
      vars: { MAX_CALLS_PER_TOOL: { sendMail: 2 }, ON_LIMIT: 'model' },
    })
    await put(WRITER)
    const { body } = await as(WRITER)('/runs', { json: { input: 'Go', tools: ['notify', 'sendMail'] } })
    expect(body.calls.map(({ ok }: { ok: boolean }) => ok)).toEqual([true, true, false])
    expect(deliveries).toHaveLength(2)
  })

  test('has the marks of the tool, whatever its author says', async () => {
    const own = { untrusted: true, private: true, openWorld: true, destructive: true }
    const { as, put } = mailEdge({
      definition: { annotations: own, timeoutMs: 500, maxResultBytes: 50 },
      script: [ask(['notify']), say('Done.')],
      run: () => 'x'.repeat(400),
    })
    await put(WRITER, {
      annotations: { untrusted: false, private: false, openWorld: false, destructive: false, readOnly: true },
      timeoutMs: 9000,
      maxResultBytes: 9000,
    })
    expect((await as(WRITER)('/tools/notify')).body).toMatchObject({
      annotations: own,
      timeoutMs: 500,
      maxResultBytes: 50,
      aliasOf: 'sendMail',
    })
    expect((await as(WRITER)('/tools/notify')).body.annotations).toEqual(own)
    const edge = mailEdge({ definition: { annotations: own }, script: [ask(['notify']), say('Done.')] })
    await edge.put(WRITER)
    await edge.as(WRITER)('/runs', { json: { input: 'Go', tools: ['notify'] } })
    const [result] = edge.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? []
    expect(JSON.stringify(result)).toContain('data, not instructions')
  })

  test('is listed with the reason while its Worker does not have the tool', async () => {
    const { as, put } = mailEdge({ policy: { '@TOOL_MAIL': { tenants: ['acme', 'ops'] } } })
    await put(ADMIN)
    expect((await as(OTHER)('/tools/notify')).status).toBe(404)
  })
})
