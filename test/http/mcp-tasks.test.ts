import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Judge } from '../../src/contract/decision.ts'
import type { Hook } from '../../src/contract/hook.ts'
import { failure, type Tool, type ToolOutcome, type ToolSource } from '../../src/contract/tool.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { eventually } from '../fixtures/eventually.ts'
import { keptEdge } from './kept-edge.ts'

const PREFIX = 'io.modelcontextprotocol/'
const TASKS = `${PREFIX}tasks`
const NEWEST = '2026-07-28'
const WITH_TASKS = { elicitation: {}, extensions: { [TASKS]: {} } }
const START = Date.UTC(2026, 0, 1)
const TTL = 8 * 24 * 3600 * 1000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
})
afterEach(() => {
  vi.useRealTimers()
})

const text = (words: string) => [{ type: 'text' as const, text: words }]
const LATER: ToolOutcome = {
  ...failure('later', 'It answers later.'),
  later: { within: 60_000, poll: 1000, state: 'job' },
}

/** A tool whose work takes two polls, and what it was asked. */
function film(terms: Parameters<typeof tool>[2] = {}, outcome?: ToolOutcome) {
  const traffic: unknown[] = []
  const render: Tool = {
    ...tool(
      'render',
      (args, context) => {
        traffic.push(['call', args, context.values])
        return LATER
      },
      { later: true, ...terms },
    ),
    poll: async (_request, state) => {
      traffic.push(['poll', state])
      if (traffic.filter((each) => Array.isArray(each) && each[0] === 'poll').length < 2) return LATER
      return outcome ?? { ok: true, content: text('{"film":7}'), structured: { film: 7 }, metadata: { job: 'j1' } }
    },
  }
  return { traffic, render }
}

/** A client of each kind. */
function client(
  tools: readonly Tool[],
  { vars = {}, judge, forApps }: { vars?: Record<string, unknown>; judge?: Judge; forApps?: readonly Tool[] } = {},
) {
  const workerTools = (): ToolSource => ({
    list: async () => ({ tools: forApps ?? [], unavailable: [] }),
    offered: async () => [],
    find: async (names) => (forApps ?? []).filter(({ definition }) => names.includes(definition.name)),
  })
  const setup = { loop: { ...(judge && { judge }) }, ...(forApps && { workerTools }) }
  // A model that asks for tools that it is not offered, in two runs.
  const script = [ask(['render']), say('Done.'), ask(['render']), say('Done.')]
  const edge = keptEdge({ script, tools, vars, setup })
  const send = async (method: string, params: Record<string, any>, headers: Record<string, string>) =>
    (await edge.post('/mcp', { jsonrpc: '2.0', id: 1, method, params }, headers)).json<Record<string, any>>()
  const newest = (
    method: string,
    params: Record<string, any> = {},
    capabilities: object = WITH_TASKS,
    headers: Record<string, string> = {},
  ) => {
    const name = params['name'] ?? params['taskId']
    const meta = { [`${PREFIX}protocolVersion`]: NEWEST, [`${PREFIX}clientCapabilities`]: capabilities }
    return send(
      method,
      { ...params, _meta: { ...meta, ...params['_meta'] } },
      { 'mcp-protocol-version': NEWEST, 'mcp-method': method, ...(name && { 'mcp-name': name }), ...headers },
    )
  }
  const older = (method: string, params: Record<string, any> = {}) =>
    send(method, params, { 'mcp-protocol-version': '2025-11-25' })
  /** Lets time pass until a task is as expected. */
  const reach = (ask: typeof newest, taskId: string, expected: object): Promise<Record<string, any>> =>
    eventually(async () => {
      await edge.settle()
      const { result } = await ask('tasks/get', { taskId })
      vi.setSystemTime(Date.now() + 500)
      expect(result).toMatchObject(expected)
      return result
    })
  return { edge, newest, older, reach }
}

const at = (ms: number) => new Date(START + ms).toISOString()

describe('a call of a tool that answers later', () => {
  test('is a task for a client of the newest revision that has declared the extension', async () => {
    const { traffic, render } = film()
    const { newest, reach } = client([render])
    expect((await newest('server/discover')).result.capabilities).toEqual({
      tools: { listChanged: true },
      extensions: { [TASKS]: {} },
    })
    const call = { name: 'render', arguments: { scene: 'sea' }, _meta: { timeZone: 'Asia/Tokyo' } }
    const { result: created } = await newest('tools/call', call)
    const { taskId } = created
    const fields = { taskId, createdAt: at(0), lastUpdatedAt: at(0), ttlMs: TTL, pollIntervalMs: 1000 }
    const serverMeta = { _meta: { [`${PREFIX}serverInfo`]: expect.anything() } }
    expect(created).toEqual({ resultType: 'task', ...fields, status: 'working', ...serverMeta })
    const statusMessage = 'The tool answers later.'
    expect(await reach(newest, taskId, { statusMessage })).toEqual({
      resultType: 'complete',
      ...fields,
      status: 'working',
      statusMessage,
      ...serverMeta,
    })
    const result = await reach(newest, taskId, { status: 'completed' })
    expect(result).toEqual({
      resultType: 'complete',
      ...fields,
      lastUpdatedAt: expect.stringMatching(/^2026-01-01T00:00:0[1-9]/),
      status: 'completed',
      result: { content: text('{"film":7}'), _meta: { job: 'j1' } },
      ...serverMeta,
    })
    expect(traffic).toEqual([
      ['call', { scene: 'sea' }, { timeZone: 'Asia/Tokyo' }],
      ['poll', 'job'],
      ['poll', 'job'],
    ])
    // A task that has ended stays as it is.
    expect((await newest('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete', ...serverMeta })
    expect((await newest('tasks/get', { taskId })).result).toEqual(result)
  })

  test('is a task for a client of 2025-11-25 that wants one', async () => {
    const { render } = film()
    const { older, reach } = client([render, tool('now', () => ({ ok: true, content: text('noon') }))])
    const { result: server } = await older('initialize', { protocolVersion: '2025-11-25' })
    expect(server.capabilities.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } })
    const { tools } = (await older('tools/list')).result
    expect(tools.map(({ name, execution }: any) => [name, execution])).toEqual([
      ['now', undefined],
      ['render', { taskSupport: 'optional' }],
    ])
    expect((await older('tools/call', { name: 'now', task: {} })).error.code).toBe(-32_601)
    const { task } = (await older('tools/call', { name: 'render', task: { ttl: 60_000 } })).result
    const { taskId } = task
    const fields = { taskId, createdAt: at(0), lastUpdatedAt: at(0), ttl: TTL, pollInterval: 1000 }
    expect(task).toEqual({ ...fields, status: 'working' })
    const pending = older('tasks/result', { taskId })
    expect(await reach(older, taskId, { status: 'completed' })).toEqual({
      ...fields,
      lastUpdatedAt: expect.any(String),
      status: 'completed',
    })
    expect((await pending).result).toEqual({
      content: text('{"film":7}'),
      _meta: { job: 'j1', [`${PREFIX}related-task`]: { taskId } },
    })
    expect((await older('tasks/cancel', { taskId })).error).toEqual({
      code: -32_602,
      message: 'The task has ended: it is completed.',
    })
  })

  test('fails as before for a client without tasks, and requests about tasks need the extension', async () => {
    const { render } = film()
    const { newest, older } = client([render])
    const failed = { content: text('It answers later.'), isError: true }
    expect((await newest('tools/call', { name: 'render' }, {})).result).toMatchObject(failed)
    expect((await older('tools/call', { name: 'render' })).result).toEqual(failed)
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect((await newest(method, { taskId: 'x' }, {})).error).toMatchObject({
        code: -32_021,
        data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
      })
    }
    expect((await newest('tasks/result', { taskId: 'x' })).error.code).toBe(-32_601)
    expect((await newest('tasks/list')).error.code).toBe(-32_601)
    expect((await older('tasks/update', { taskId: 'x' })).error.code).toBe(-32_601)
    for (const taskId of ['x', '../x', 7, undefined, `task_${'a'.repeat(22)}`]) {
      expect((await older('tasks/get', { taskId })).error).toEqual({ code: -32_602, message: 'There is no such task.' })
    }
  })

  test('is cancelled by tasks/cancel, and is not polled any more', async () => {
    for (const revision of ['newest', 'older'] as const) {
      const { traffic, render } = film()
      const { [revision]: ask, reach } = client([render])
      const { result } = await ask('tools/call', { name: 'render', task: {} })
      const { taskId } = result.task ?? result
      await reach(ask, taskId, { statusMessage: 'The tool answers later.' })
      const polls = traffic.length
      const cancelled = await ask('tasks/cancel', { taskId })
      if (revision === 'older') expect(cancelled.result).toMatchObject({ taskId, status: 'cancelled' })
      await reach(ask, taskId, { status: 'cancelled' })
      vi.setSystemTime(Date.now() + 5000)
      await reach(ask, taskId, { status: 'cancelled' })
      expect(traffic.length).toBe(polls)
    }
  })

  test('has completed with an error result if the tool fails, and has failed if its run does', async () => {
    const { newest, reach } = client([film({}, failure('tool_error', 'The film tore.')).render])
    const { taskId } = (await newest('tools/call', { name: 'render' })).result
    const result = await reach(newest, taskId, { status: 'completed' })
    expect([result['status'], result['result']]).toEqual([
      'completed',
      { content: text('The film tore.'), isError: true },
    ])
    const fatal = { ok: false, error: { code: 'tool_error', message: 'The studio burns.', fatal: true } } as const
    const broken = client([tool('render', () => fatal, { later: true })])
    const { taskId: second } = (await broken.newest('tools/call', { name: 'render' })).result
    const failed = await broken.reach(broken.newest, second, { status: 'failed' })
    expect([failed['error'], 'result' in failed]).toEqual([{ code: -32_603, message: 'The studio burns.' }, false])
  })

  test('asks the person behind the client for the input that its tool needs, all at once', async () => {
    const requests = Object.fromEntries(
      ['name', 'age'].map((key) => [key, { method: 'elicitation/create', params: { mode: 'form', message: key } }]),
    )
    const needs: ToolOutcome = { ...failure('input_required', 'It asks.'), input: { requests, state: 's' } }
    const inputs: unknown[] = []
    const survey = tool(
      'render',
      (_args, { input }) => {
        inputs.push(input)
        return input ? { ok: true, content: text('Hello') } : needs
      },
      { later: true },
    )
    const { newest, reach } = client([survey])
    const { taskId } = (await newest('tools/call', { name: 'render' })).result
    const { inputRequests } = await reach(newest, taskId, { status: 'input_required' })
    expect(Object.values(inputRequests)).toEqual(Object.values(requests))
    const [nameKey = '', ageKey = ''] = Object.keys(inputRequests)
    const answers = {
      name: { action: 'accept', content: { name: 'Ada' } },
      age: { action: 'accept', content: { age: 7 } },
    }
    await newest('tasks/update', { taskId, inputResponses: { [nameKey]: answers.name } })
    await reach(newest, taskId, { status: 'input_required', inputRequests })
    await newest('tasks/update', { taskId, inputResponses: { [nameKey]: answers.name, [ageKey]: answers.age } })
    await reach(newest, taskId, { status: 'completed', result: { content: text('Hello') } })
    expect(inputs).toEqual([undefined, { responses: answers, state: 's' }])
  })

  test('is cut as a call without a task is, without the note for models', async () => {
    const long = { ok: true, content: text(`${'word '.repeat(400)}end`) } as const
    const { render } = film({}, long)
    const now = tool('now', () => long)
    const { newest, reach } = client([render, now], { vars: { MAX_RESULT_BYTES: 1000 } })
    const { taskId } = (await newest('tools/call', { name: 'render' })).result
    const { result } = await reach(newest, taskId, { status: 'completed' })
    const [{ text: words }] = result.content
    expect(words).toMatch(/^(?:word )+\n\[cut: 1000 of 2003 bytes shown\]$/)
    expect(result.content).toEqual((await newest('tools/call', { name: 'now' })).result.content)
  })

  test('asks by another key when its tool asks by the same name again, and ignores the old one', async () => {
    const rooms: unknown[] = []
    const form = { method: 'elicitation/create', params: { mode: 'form', message: 'Which room?' } }
    const needs: ToolOutcome = { ...failure('input_required', 'It asks.'), input: { requests: { room: form } } }
    const twice = tool(
      'render',
      (_args, { input }) => {
        rooms.push(input?.responses['room']?.['content'])
        return rooms.length < 3 ? needs : { ok: true, content: text('Booked') }
      },
      { later: true },
    )
    const { newest, reach } = client([twice])
    const { taskId } = (await newest('tools/call', { name: 'render' })).result
    const answer = async (room: number, ...keys: string[]): Promise<void> => {
      const response = { action: 'accept', content: { room } }
      const inputResponses = Object.fromEntries(keys.map((key) => [key, response]))
      await newest('tasks/update', { taskId, inputResponses })
    }
    const nextKeys = async (): Promise<string[]> =>
      Object.keys((await reach(newest, taskId, { status: 'input_required' }))['inputRequests'])
    const [first = ''] = await nextKeys()
    await answer(1, first)
    await eventually(() => expect(rooms).toEqual([undefined, { room: 1 }]))
    const [second = ''] = await nextKeys()
    await answer(2, first)
    expect(await nextKeys()).toEqual([second])
    await answer(3, second)
    await reach(newest, taskId, { status: 'completed' })
    expect([rooms, first === second]).toEqual([[undefined, { room: 1 }, { room: 3 }], false])
  })

  test('is approved by no decision model, since no user has written what it is', async () => {
    const { render } = film({ approval: 'always', modelMayApprove: true })
    const { newest } = client([render], { judge: { call: async () => ({ ok: true }) } })
    const { taskId } = (await newest('tools/call', { name: 'render' })).result
    const { result } = await eventually(async () => {
      const answer = await newest('tasks/get', { taskId })
      expect(answer['result'].statusMessage ?? answer['result'].status).not.toBe('working')
      return answer
    })
    expect(result.status).toBe('input_required')
  })

  test('belongs to its tenant, and is approved only by a key that may', async () => {
    const keys = { ek_own: ['acme', 'approve'], ek_plain: ['acme'], ek_other: ['evil', 'approve'] }
    const apiKeys = Object.entries(keys).map(([key, [tenant, ...scopes]]) => ({
      sha256: createHash('sha256').update(key).digest('hex'),
      tenant,
      scopes: ['chat', 'tools:read', ...scopes],
    }))
    const { render } = film({ approval: 'always' })
    const { newest: ask } = client([render], { vars: { AUTH: 'keys', API_KEYS: JSON.stringify(apiKeys) } })
    const as = (key: string) => (method: string, params: object) =>
      ask(method, params, WITH_TASKS, { authorization: `Bearer ${key}` })
    const [own, plain, other] = [as('ek_own'), as('ek_plain'), as('ek_other')]
    const { taskId } = (await own('tools/call', { name: 'render' })).result
    await eventually(async () => {
      expect((await own('tasks/get', { taskId })).result.status).toBe('input_required')
    })
    const { inputRequests } = (await own('tasks/get', { taskId })).result
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { action: 'accept' }]))
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect((await other(method, { taskId, inputResponses })).error).toEqual({
        code: -32_602,
        message: 'There is no such task.',
      })
    }
    await plain('tasks/update', { taskId, inputResponses })
    expect((await plain('tasks/get', { taskId })).result).toMatchObject({
      status: 'working',
      statusMessage: 'The call waits for a person.',
    })
    expect((await own('tasks/get', { taskId })).result.status).toBe('input_required')
  })

  test('asks the person behind the client for approval, if the client and its key may', async () => {
    const approval = { approval: 'always' } as const
    for (const [action, end] of [
      ['accept', { statusMessage: 'The tool answers later.' }],
      ['decline', { status: 'completed', result: { isError: true } }],
    ] as const) {
      const { render } = film(approval)
      const { newest, reach } = client([render])
      const { taskId } = (await newest('tools/call', { name: 'render', arguments: { scene: 1 } })).result
      const { inputRequests } = await reach(newest, taskId, { status: 'input_required' })
      expect(Object.values(inputRequests)).toEqual([
        {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Allow the call of "render" with {"scene":1}?',
            requestedSchema: { type: 'object', properties: {} },
          },
        },
      ])
      const [key = ''] = Object.keys(inputRequests)
      // A client that cannot ask a person is told that one is needed.
      const { result: other } = await newest('tasks/get', { taskId }, { extensions: { [TASKS]: {} } })
      expect([other.status, other.statusMessage]).toEqual(['working', 'The call waits for a person.'])
      await newest('tasks/update', { taskId, inputResponses: { unknown: { action } } })
      expect((await newest('tasks/get', { taskId })).result.status).toBe('input_required')
      await newest('tasks/update', { taskId, inputResponses: { [key]: { action } } })
      await reach(newest, taskId, end)
    }
  })
})

describe('a tool for apps alone that answers later', () => {
  const ofApp = (audience: string[]): { traffic: unknown[]; render: Tool } => {
    const { traffic, render } = film({ metadata: { ui: { visibility: audience } } })
    return { traffic, render: { ...render, origin: 'mcp' } }
  }

  test('is called as a task', async () => {
    const { traffic, render } = ofApp(['app'])
    const { newest, older, reach } = client([], { forApps: [render] })
    const { taskId } = (await newest('tools/call', { name: 'render', arguments: { scene: 'sea' } })).result
    const { result } = await reach(newest, taskId, { status: 'completed' })
    expect([result, traffic]).toEqual([
      { content: text('{"film":7}'), _meta: { job: 'j1' } },
      [
        ['call', { scene: 'sea' }, {}],
        ['poll', 'job'],
        ['poll', 'job'],
      ],
    ])
    const { task } = (await older('tools/call', { name: 'render', task: {} })).result
    await reach(newest, task.taskId, { status: 'completed' })
  })

  test('is known to its own task alone: to no run of a model, also not with the options of a task', async () => {
    const { traffic, render } = ofApp(['app'])
    const other: Tool = { ...render, definition: { ...render.definition, name: 'other' } }
    const internal: Tool = { ...ofApp([]).render, definition: { ...ofApp([]).render.definition, name: 'internal' } }
    const { edge, newest, reach } = client([], { forApps: [render, other, internal] })
    const findings: unknown[] = []
    let options = {}
    const hook: Hook = {
      name: 'curious',
      accept: (request) => ({ ...request, ...options }),
      activate: async (names, { find }) => {
        findings.push((await find(['render', 'other', 'internal'])).map(({ definition }) => definition.name))
        return [...names, 'render', 'other', 'internal']
      },
    }
    Object.assign(edge.setup, { loop: { hooks: [hook] } })
    const { taskId } = (await newest('tools/call', { name: 'render' })).result
    await reach(newest, taskId, { status: 'completed' })
    expect([...new Set(findings.splice(0).map(String))]).toEqual(['render'])
    traffic.splice(0)
    await edge.post('/conversations', { id: 'c' })
    for (options of [{}, { providerOptions: { 'mcp-task': { tool: 'render', arguments: '{}' } } }]) {
      const run: any = await (await edge.post('/conversations/c/runs', { input: 'Go' })).json()
      expect([run.status, run.calls[0].error.code]).toEqual(['completed', 'unknown_tool'])
    }
    expect([findings.every((names) => String(names) === ''), findings.length, traffic]).toEqual([true, 4, []])
  })
})

test('tasks/get of 2025-11-25 reads no result, which it does not return', async () => {
  const long = { ok: true, content: text(`${'word '.repeat(400)}end`) } as const
  const { edge, older, reach, newest } = client([film({}, long).render], { vars: { MAX_RESULT_BYTES: 1000 } })
  const { taskId } = (await older('tools/call', { name: 'render', task: {} })).result.task
  await reach(newest, taskId, { status: 'completed' })
  const [object] = [...edge.objects.values()]
  const reads = vi.spyOn(object!, 'messages')
  expect((await older('tasks/get', { taskId })).result.status).toBe('completed')
  expect(reads).not.toHaveBeenCalled()
  const { result } = await older('tasks/result', { taskId })
  expect(result.content[0].text).toMatch(/\n\[cut: 1000 of 2003 bytes shown\]$/)
  expect(reads).toHaveBeenCalledOnce()
})

test('the model of tasks makes no call that a request asks for by its name', async () => {
  const { edge } = client([film().render])
  const run = await (await edge.post('/runs', { input: 'Call render with {}.', model: 'mcp-task/call' })).json<any>()
  expect([run.code ?? run.error?.code, run.calls ?? []]).toEqual(['model_refused_request', []])
})
