import { describe, expect, test } from 'vitest'
import type { ToolOutcome } from '../../../src/contract/tool.ts'
import { callCode, type CodeHost, type CodeOptions } from '../../../src/definitions/code/worker.ts'
import type { Code } from '../../../src/definitions/code/definition.ts'
import { CONTROL, text, toolRequest } from '../../host/source/calls.ts'

const hosts = { 'api.example.com': ['SECRET_A'] }
const grants: Code = { module: 'm', hosts: ['api.example.com'], secrets: ['SECRET_A'] }

/** A loader whose Workers answer with that, and what it was asked. */
function host(answer: (init: RequestInit) => Promise<Response> | Response = () => new Response('{"value":1}')) {
  const loaded: { id: string; code: Parameters<CodeHost['loader']['load']>[0]; body: any }[] = []
  const code: CodeHost = {
    outbound: (grant) => ({ grant }),
    isolates: 'shared',
    loader: {
      load: () => {
        throw new Error('load')
      },
      get: (id, make) => ({
        getEntrypoint: () => ({
          fetch: async (_url, init = {}) => {
            loaded.push({ id, code: make(), body: JSON.parse(init.body as string) })
            return answer(init)
          },
        }),
      }),
    },
  }
  return { code, loaded }
}

function call(
  options: Partial<CodeOptions>,
  code: Code = { module: 'm' },
  { tenant = 'acme', deadline = Date.now() + 20_000, control = CONTROL } = {},
): Promise<ToolOutcome> {
  const request = toolRequest('t', { id: 1 }, { deadline })
  const { context } = request
  const of = { ...request, context: { ...context, caller: { tenant, scopes: [] } } }
  return callCode({ name: 't', code }, { hosts, secret: () => 'hidden', ...options })(of, control)
}

const failed = (code: string, message: string, detail?: string): ToolOutcome => ({
  ok: false,
  error: { code, message: `The tool "t" ${message}`, ...(detail !== undefined && { detail }) },
})

describe('a dynamic Worker', () => {
  test('gets the module, a limit on its work, and no network', async () => {
    const { code, loaded } = host()
    expect(await call({ code })).toMatchObject({ ok: true, structured: 1 })
    expect(loaded[0]?.code).toMatchObject({
      mainModule: 'main.js',
      modules: { 'tool.js': 'm' },
      globalOutbound: null,
      limits: { cpuMs: 1000, subRequests: 50 },
    })
    expect(loaded[0]?.code).not.toHaveProperty('env')
    expect(loaded[0]?.body).toMatchObject({ arguments: { id: 1 }, context: { idempotencyKey: 'key_1', secrets: {} } })
  })

  test('gets the messages of the conversation if the request brings them', async () => {
    const { code, loaded } = host()
    const history = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] as const
    await callCode({ name: 't', code: { module: 'm' } }, { hosts, secret: () => '', code })(
      toolRequest('t', { id: 1 }, { history }),
      CONTROL,
    )
    expect(loaded[0]?.body.context.history).toEqual(history)
  })

  test('that may reach hosts gets an outbound with its grants and a stand-in for each secret', async () => {
    const { code, loaded } = host()
    await call({ code }, grants)
    const [{ body, code: made } = { body: {}, code: undefined }] = loaded
    const { SECRET_A: standIn } = body.context.secrets
    expect(standIn).toMatch(/^SECRET_A\.[0-9a-f]{64}$/)
    expect(made?.globalOutbound).toEqual({
      grant: {
        origins: { 'https://api.example.com': ['SECRET_A'] },
        secrets: [{ name: 'SECRET_A', value: 'hidden', standIn }],
      },
    })
    expect(JSON.stringify(body)).not.toContain('hidden')
  })

  test('is shared only by calls of the same code, tenant and grants', async () => {
    const { code, loaded } = host()
    const wider = { ...hosts, 'b.example.com': [] }
    await call({ code }, grants)
    await call({ code }, grants)
    await call({ code }, grants, { tenant: 'other' })
    await call({ code }, { ...grants, module: 'n' })
    await call({ code }, { ...grants, secrets: [] })
    await call({ code, hosts: wider }, { ...grants, hosts: ['api.example.com', 'b.example.com'] })
    await call({ code, secret: () => 'rotated' }, grants)
    const [first, repeat, ...others] = loaded.map(({ id }) => id)
    expect(repeat).toBe(first)
    expect(new Set([first, ...others]).size).toBe(6)
    const standIns = loaded.flatMap(({ body }) => body.context.secrets.SECRET_A ?? [])
    expect(new Set(standIns).size).toBe(5)
  })
})

describe('a call of code fails', () => {
  test('if the deployment lacks a grant that the code needs, or cannot run code', async () => {
    const { code, loaded } = host()
    const failures = [
      await call({}, grants),
      await call({ code, hosts: {} }, grants),
      await call({ code, secret: () => undefined }, grants),
    ]
    const message = 'is not set up.'
    expect(failures).toEqual([
      failed(
        'tool_misconfigured',
        message,
        'expected a deployment that runs code: the definitions Worker has no binding LOADER (worker_loaders)',
      ),
      failed(
        'tool_misconfigured',
        message,
        'expected an origin that HTTP_TOOL_HOSTS allows, received https://api.example.com\n' +
          'expected a secret that HTTP_TOOL_HOSTS allows for a host in code.hosts, received SECRET_A',
      ),
      failed('tool_misconfigured', message, 'SECRET_A has no value'),
    ])
    expect(loaded).toEqual([])
  })

  test('at its time limit', async () => {
    const never = (init: RequestInit) =>
      new Promise<Response>((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(new Error('aborted')))
      })
    const message = 'did not answer in time; whether it took effect is unknown.'
    const { code, loaded } = host(never)
    const outcome = await call({ code }, grants, { deadline: Date.now() + 1000 })
    const detail: unknown = expect.stringMatching(/^no answer within \d+ ms$/)
    expect(outcome).toEqual({ ok: false, error: { code: 'timeout', message: `The tool "t" ${message}`, detail } })
    const control = { ...CONTROL, whenAborted: async () => 'timeout' }
    expect(await call({ code }, grants, { control })).toEqual(failed('timeout', message, 'aborted'))
    expect(loaded).toHaveLength(2)
    expect(await call({ code }, grants, { deadline: Date.now() })).toEqual(
      failed('timeout', 'was not called: the deadline of the call had passed.'),
    )
    expect(loaded).toHaveLength(2)
  })

  test.each<[string, string, ToolOutcome]>([
    ['no JSON', '{', failed('tool_failed', 'failed.', 'the dynamic Worker answered no JSON')],
    ['JSON of no use', '[]', failed('tool_failed', 'failed.', 'the dynamic Worker answered no JSON')],
    ['an error', '{"thrown":"Error: hidden"}', failed('tool_failed', 'failed.', 'Error: [redacted]')],
    [
      'an answer without end',
      `"${'x'.repeat(1024 * 1024)}"`,
      failed('result_too_large', 'answered with more than 1048576 bytes.'),
    ],
    [
      'a prototype',
      '{"value":{"__proto__":1}}',
      failed('result_unusable', 'answered with unusable JSON.', 'expected a name other than __proto__'),
    ],
    [
      '100 levels',
      `{"value":${'['.repeat(100)}${']'.repeat(100)}}`,
      failed('result_unusable', 'answered with unusable JSON.', 'expected at most 64 levels'),
    ],
  ])('for %s', async (_, body, expected) => {
    const { code } = host(() => new Response(body))
    expect(await call({ code }, grants)).toEqual(expected)
  })

  test('if its Worker does not start', async () => {
    const { code } = host(() => Promise.reject(new Error('Worker exceeded CPU time limit. hidden')))
    expect(await call({ code }, grants)).toEqual(
      failed('tool_failed', 'failed.', 'Worker exceeded CPU time limit. [redacted]'),
    )
  })
})

test('a result contains neither a secret nor its stand-in', async () => {
  const { code, loaded } = host(
    () => new Response(JSON.stringify({ value: `hidden ${loaded[0]?.body.context.secrets.SECRET_A}` })),
  )
  expect(await call({ code }, grants)).toEqual(text('[redacted] [redacted]'))
})
