import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Judge } from '../../src/contract/decision.ts'
import type { LoopSetup } from '../../src/contract/hook.ts'
import type { DataMark } from '../../src/contract/message.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { failure } from '../../src/contract/tool.ts'
import type { Usage } from '../../src/contract/usage.ts'
import { wireName } from '../../src/contract/tool-names.ts'
import { serveAgents } from '../../src/agent.ts'
import { inOrder } from '../../src/host/source/chain.ts'
import { agentSource } from 'edgecall/agent'
import { RUN_CODE } from '../../src/contract/program.ts'
import { type Script, scripted } from '../fixtures/scripted.ts'
import { vmLoader } from '../fixtures/vm-loader.ts'
import type { Env } from 'edgecall'
import { makeSetup, type Part, providerTools, scheduleTools, triggers, webhookTrigger } from 'edgecall'
import { keyName } from '../fixtures/keys.ts'
import { eventually } from '../fixtures/eventually.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type ControlledEdge, controlledEdge, workerOf } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read approve'
/** The same caller with the right to keep schedules. */
const SCHEDULER = 'acme: chat tools:read approve schedules'
/** The same caller with the right to store definitions. */
const WRITER = 'acme: chat tools:read tools:write approve'
/** A program of the same tenant, which may not approve. */
const PROGRAM = 'acme: chat tools:read'
/** The same tenant with the right to restore copies. */
const RESTORER = 'acme: backup'
const ADMIN = 'ops: chat tools:read tools:admin finance'
const HOST = 'api.example.com'
const NEWEST = '2026-07-28'

type Call = [tool: string, args?: object]
type Steps = readonly Script[]

/** A way to reach a tool. */
interface Way {
  /** The name under which it is called. */
  readonly alias?: string
  /** What the model answers: `before` are steps that come first, `calls` the calls of the tool. */
  readonly script: (before: Steps, calls: readonly Call[]) => Steps
  readonly vars?: object
  readonly go: (edge: ControlledEdge, calls: readonly Call[], headers?: object) => Promise<unknown>
  /** How many further tools the Worker of the tool has. Default: none. */
  readonly others?: number
  /** Whether the tool is one of another Worker, which has a setup and variables of its own. */
  readonly isElsewhere?: boolean
  /** Whether the edge leaves the call to its caller. */
  readonly isHandedOut?: boolean
  /** Whether it reaches bound tools alone. */
  readonly isOfBound?: boolean
  /** Parts that the edge has beside all of its own. */
  readonly parts?: readonly Part[]
  /** Whether no model reads the result, and a request makes one call. */
  readonly isDirect?: boolean
  /** What the tool says of itself as one of the MCP server `bank`. Default: it is of no such server. */
  readonly ofServer?: object
}

const inOneRun: Way['script'] = (before, calls) => [...before, ask(...calls), say('Done.')]
const inTwoRuns: Way['script'] = (before, calls) => [...before, say('One.'), ask(...calls), say('Two.')]
const input = 'Go'

async function inConversation(edge: ControlledEdge, json: object = {}, id = 'c') {
  await edge.as(KEY)('/conversations', { json: { id } })
  return edge.as(KEY)(`/conversations/${id}/runs`, { json: { input, ...json } })
}

/** Waits until a run has ended, or the run of its agent waits for a person. Returns its record. */
async function untilRest({ as }: ControlledEdge, run: string): Promise<any> {
  return eventually(async () => {
    const { body } = await as(KEY)(`/conversations/c/runs/${run}`)
    const isOver = body.status === 'completed' || body.status === 'failed' || body.waitsFor === 'approval'
    expect(isOver || body.calls.some(({ child }: any) => child?.waits?.length > 0)).toBe(true)
    return body
  })
}

/** A program that makes these calls at once, and returns what comes of them. */
function programOf(calls: readonly Call[]): string {
  return `const calls = ${JSON.stringify(calls)}.map(([name, input]) => tools[name](input))
return Promise.all(calls.map((call) => call.then((value) => value, (error) => error.message)))`
}

/** Has a run wait for its caller, and go on after its key has lost the scope `finance`. */
async function resumeWithoutScope(edge: ControlledEdge, json: object = {}) {
  edge.setScopes(KEY, 'chat tools:read approve finance')
  const { body } = await inConversation(edge, { clientTools: [{ name: 'pick' }], ...json })
  edge.setScopes(KEY, 'chat tools:read approve')
  const path = `/conversations/c/runs/${body.id}`
  await edge.as(KEY)(`${path}/calls/${body.calls[0].id}`, { json: { result: 'left' } })
  await edge.as(KEY)(`${path}/events`)
  return body.id
}

/** Stores a schedule, which is due after its key has lost a scope. */
async function runOfSchedule(edge: ControlledEdge, lostScope = '') {
  const scopes = SCHEDULER.replace('acme: ', '')
  edge.setScopes(SCHEDULER, `${scopes} ${lostScope}`.trim())
  const request = edge.as(SCHEDULER)
  await request('/schedules/s', {
    method: 'PUT',
    json: { at: new Date(Date.now() + 1000).toISOString(), run: { input } },
  })
  edge.setScopes(SCHEDULER, scopes)
  vi.setSystemTime(Date.now() + 1000)
  await edge.schedules.getByName('acme').alarm()
  const { history } = (await request('/schedules/s')).body
  expect(history).toMatchObject([{ outcome: 'started' }])
  const [{ run, conversation }] = history
  await request(`/conversations/${conversation}/runs/${run}/events`)
}

/** What another service sends: the tool of whose call it speaks. Whoever posts it has signed it. */
const eventsOf = (marks?: readonly DataMark[]) => {
  const scheme = { secret: 'SERVICE_SECRET', verify: async () => 'event-1' }
  const as = keyName(SCHEDULER.replace(/\W+/g, '-'))
  return triggers({
    news: webhookTrigger({
      ...{ scheme, as },
      start: ({ body }) => {
        const { target, ...run } = body as { readonly target?: { readonly tool: string } }
        const answerTo = target && { answer: 'text', ...target }
        return { run: { input, ...run }, conversation: 'c', ...(answerTo && { answerTo }), ...(marks && { marks }) }
      },
    }),
  })
}

/** Has a service send an event, and waits until the run of it is at rest. */
async function runOfEvent(edge: ControlledEdge, event: object = {}) {
  const { body } = await edge.as(KEY)('/triggers/news', { json: event })
  return untilRest(edge, body.run)
}

/** Has the run of an event store a task, which is given once a person has approved that. */
async function taskOfEvent(edge: ControlledEdge) {
  const { id, calls } = await runOfEvent(edge, { tools: { add: ['setSchedule'] } })
  await edge.as(KEY)(`/conversations/c/runs/${id}/calls/${calls[0].id}`, { json: { decision: 'approve' } })
  await untilRest(edge, id)
  vi.setSystemTime(Date.now() + 1000)
  await edge.schedules.getByName('acme').alarm()
  const { history } = (await edge.as(SCHEDULER)('/schedules/s')).body
  expect(history).toMatchObject([{ outcome: 'started' }])
  const [{ run, conversation }] = history
  await edge.as(KEY)(`/conversations/${conversation}/runs/${run}/events`)
}

const setSchedule = (): Call => [
  'setSchedule',
  { name: 's', task: input, at: new Date(Date.now() + 1000).toISOString() },
]

/** The way by which `/mcp` asks an MCP server behind the edge for something else than a call. */
function ofServer(method: string, params: object, relays: string): Way {
  return {
    script: () => [],
    isDirect: true,
    isOfBound: true,
    ofServer: { relays, ...(relays !== 'resources/read' && { ui: { visibility: [] } }) },
    go: ({ as }) => as(KEY)('/mcp', { json: { jsonrpc: '2.0', id: 1, method, params } }),
  }
}

const WAYS: Readonly<Record<string, Way>> = {
  'a chat completion': {
    script: inOneRun,
    go: ({ as }) => as(KEY)('/v1/chat/completions', { json: { messages: [{ role: 'user', content: input }] } }),
  },
  'a message': {
    script: inOneRun,
    go: ({ as }) => as(KEY)('/v1/messages', { json: { max_tokens: 9, messages: [{ role: 'user', content: input }] } }),
  },
  'a run': { script: inOneRun, go: ({ as }) => as(KEY)('/runs', { json: { input } }) },
  'a run in a conversation': { script: inOneRun, go: (edge) => inConversation(edge) },
  'POST /tools/{name}/call': {
    script: () => [],
    isDirect: true,
    go: ({ as }, [[name, args = {}] = ['']]) => as(KEY)(`/tools/${name}/call`, { json: { arguments: args } }),
  },
  '/mcp': {
    script: () => [],
    isDirect: true,
    go: ({ as }, [[name, args = {}] = ['']]) =>
      as(KEY)('/mcp', { json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } } }),
  },
  'the page of an app that /mcp reads': ofServer('resources/read', { uri: 'ui://bank/page' }, 'ui/read'),
  'a resource that /mcp reads': ofServer('resources/read', { uri: 'docs://bank/page' }, 'resources/read'),
  'a prompt that /mcp gets': ofServer('prompts/get', { name: 'bank.page' }, 'prompts/get'),
  'the prompts that /mcp lists': ofServer('prompts/list', {}, 'prompts/list'),
  'an app, by /mcp': {
    script: () => [],
    isDirect: true,
    isOfBound: true,
    ofServer: { ui: { visibility: ['app'] } },
    go: ({ as }, [[name, args = {}] = ['']]) =>
      as(KEY)('/mcp', { json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } } }),
  },
  'a program answering a question': {
    script: () => [],
    isDirect: true,
    vars: { OUTCOME_SECRET: 'a secret of the deployment' },
    go: async ({ as }, [[name, args = {}] = ['']]) => {
      const prefix = 'io.modelcontextprotocol/'
      const capabilities = { elicitation: {} }
      const meta = { [`${prefix}protocolVersion`]: NEWEST, [`${prefix}clientCapabilities`]: capabilities }
      const headers = { 'mcp-protocol-version': NEWEST, 'mcp-method': 'tools/call', 'mcp-name': name }
      const call = (more: object = {}) => {
        const params = { name, arguments: args, _meta: meta, ...more }
        return as(PROGRAM)('/mcp', { headers, json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } })
      }
      const first = await call()
      const { result = {} } = first.body
      if (result.isError !== true && result.resultType !== 'input_required') return first
      const accept = { action: 'accept', content: {} }
      const inputResponses = { approval: accept, sure: accept }
      const { requestState = 'e30.e30' } = result
      return [first, await call({ inputResponses }), await call({ inputResponses, requestState })]
    },
  },
  'a program in a session of /mcp': {
    script: () => [],
    isDirect: true,
    vars: { OUTCOME_SECRET: 'a secret of the deployment' },
    go: async ({ as }, [[name, args = {}] = ['']]) => {
      const accept = 'application/json, text/event-stream'
      const send = (json: object, headers: object = {}) =>
        as(PROGRAM)('/mcp', { json: { jsonrpc: '2.0', ...json }, headers: { accept, ...headers } })
      const params = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } }
      const session = (await send({ id: 0, method: 'initialize', params })).headers.get('mcp-session-id') ?? ''
      const call = (id: number) =>
        send({ id, method: 'tools/call', params: { name, arguments: args } }, { 'mcp-session-id': session })
      const first = await call(1)
      if (!/\bNot run yet\b/.test(JSON.stringify(first.body))) return first
      const result = { action: 'accept', content: {} }
      const reply = await send({ id: 'e30.e30', result }, { 'mcp-session-id': session })
      return [first, reply, await call(2)]
    },
  },
  'an alias': { alias: 'face', script: inOneRun, go: ({ as }) => as(KEY)('/runs', { json: { input } }) },
  'an alias, called directly': {
    alias: 'face',
    script: () => [],
    isDirect: true,
    go: ({ as }, [[name, args = {}] = ['']]) => as(KEY)(`/tools/${name}/call`, { json: { arguments: args } }),
  },
  'a definition that is not stored': {
    script: () => [],
    isOfBound: true,
    isDirect: true,
    go: ({ as }, [[call, args = {}] = ['']]) => {
      const definition = { description: 'Pays.', inputSchema: { type: 'object' }, binding: 'TOOL_BANK', call }
      return as(WRITER)('/tools/draft/call', { json: { arguments: args, definition } })
    },
  },
  'an agent': {
    script: (before, calls) => [ask(['clerk', { question: input }]), ...inOneRun(before, calls), say('Outer.')],
    go: ({ as }) => as(KEY)('/runs', { json: { input } }),
  },
  'an agent in a conversation': {
    script: (before, calls) => [ask(['clerk', { question: input }]), ...inOneRun(before, calls), say('Outer.')],
    go: async (edge) => {
      const { body } = await inConversation(edge)
      return untilRest(edge, body.id)
    },
  },
  'the turn of an agent that a caller runs again': {
    script: (before, calls) => [
      ask(['clerk', { question: input }]),
      say('Inner.'),
      say('Outer.'),
      ...inOneRun(before, calls),
    ],
    go: async (edge) => {
      const { body } = await inConversation(edge)
      const { calls } = await untilRest(edge, body.id)
      const { conversation, run } = calls[0].child
      return edge.as(KEY)(`/conversations/${conversation}/runs/${run}/regenerate`, { json: {} })
    },
  },
  'an agent in a Worker of its own': {
    isElsewhere: true,
    script: (before, calls) => [ask(['expert', { question: input }]), ...inOneRun(before, calls), say('Outer.')],
    go: ({ as }) => as(KEY)('/runs', { json: { input } }),
  },
  'a tool search': {
    vars: { TOOL_SEARCH: 'on' },
    script: (before, calls) => [
      ask(['tool_search', { query: 'pay page card', maxResults: 9 }]),
      ...inOneRun(before, calls),
    ],
    go: ({ as }) => as(KEY)('/runs', { json: { input } }),
  },
  'a tool search above 40 tools': {
    others: 45,
    isOfBound: true,
    vars: { TOOL_SEARCH: 'auto' },
    script: (before, calls) => [
      ask(['tool_search', { query: 'pay page card', maxResults: 9 }]),
      ...inOneRun(before, calls),
    ],
    go: ({ as }) => as(KEY)('/runs', { json: { input } }),
  },
  'a program that the model writes': {
    vars: { LOADER: vmLoader(), CODE_MODE: 'also' },
    script: (before, calls) => [...before, ask([RUN_CODE, { code: programOf(calls) }]), say('Done.')],
    go: ({ as }) => as(KEY)('/runs', { json: { input } }),
  },
  'a program in a conversation': {
    vars: { LOADER: vmLoader() },
    script: (before, calls) => [...before, ask([RUN_CODE, { code: programOf(calls) }]), say('Done.')],
    go: (edge) => inConversation(edge, { code: 'also' }),
  },
  'execution by the caller': {
    isHandedOut: true,
    script: (_, calls) => [ask(...calls), say('Done.')],
    go: ({ as }) => as(KEY)('/runs', { json: { input, execution: 'caller' } }),
  },
  'an eager call': { script: inOneRun, go: ({ as }) => as(KEY)('/runs', { json: { input, eager: true } }) },
  'a resumed run': {
    script: (before, calls) => [ask(['pick']), ...inOneRun(before, calls)],
    go: async (edge) => {
      const { body } = await inConversation(edge, { clientTools: [{ name: 'pick' }] })
      const path = `/conversations/c/runs/${body.id}`
      await edge.as(KEY)(`${path}/calls/${body.calls[0].id}`, { json: { result: 'left' } })
      await edge.as(KEY)(`${path}/events`)
    },
  },
  'a run that resumes after its key has lost a scope': {
    script: (before, calls) => [ask(['pick']), ...inOneRun(before, calls)],
    go: (edge) => resumeWithoutScope(edge),
  },
  'an agent of a run that resumes after its key has lost a scope': {
    script: (before, calls) => [
      ask(['pick']),
      ask(['clerk', { question: input }]),
      ...inOneRun(before, calls),
      say('Outer.'),
    ],
    go: async (edge) => untilRest(edge, await resumeWithoutScope(edge)),
  },
  'an agent in a Worker of its own, of a run that resumes after its key has lost a scope': {
    isElsewhere: true,
    script: (before, calls) => [
      ask(['pick']),
      ask(['expert', { question: input }]),
      ...inOneRun(before, calls),
      say('Outer.'),
    ],
    go: (edge) => resumeWithoutScope(edge),
  },
  'a program of a run that resumes after its key has lost a scope': {
    vars: { LOADER: vmLoader() },
    script: (before, calls) => [ask(['pick']), ...before, ask([RUN_CODE, { code: programOf(calls) }]), say('Done.')],
    go: (edge) => resumeWithoutScope(edge, { code: 'also' }),
  },
  'a run of a schedule': {
    script: inOneRun,
    go: (edge) => runOfSchedule(edge),
  },
  'a run of a schedule whose key has lost a scope since': {
    script: inOneRun,
    go: (edge) => runOfSchedule(edge, 'finance'),
  },
  'the run of an event': { script: inOneRun, parts: [eventsOf()], go: (edge) => runOfEvent(edge) },
  'the run of an event whose turn a person runs again': {
    script: (before, calls) => [say('One.'), ...inOneRun(before, calls)],
    parts: [eventsOf()],
    go: async (edge) => {
      const { id } = await runOfEvent(edge)
      await edge.as(KEY)(`/conversations/c/runs/${id}/regenerate`, { json: {} })
    },
  },
  'a run after that of an event': {
    script: (before, calls) => [say('One.'), ...inOneRun(before, calls)],
    parts: [eventsOf()],
    go: async (edge) => {
      await runOfEvent(edge)
      await edge.as(KEY)('/conversations/c/runs', { json: { input } })
    },
  },
  'the turn of an agent of an event’s run that a caller runs again': {
    script: (before, calls) => [
      ask(['clerk', { question: input }]),
      say('Inner.'),
      say('Outer.'),
      ...inOneRun(before, calls),
    ],
    parts: [eventsOf()],
    go: async (edge) => {
      const { calls } = await runOfEvent(edge)
      const { conversation, run } = calls[0].child
      return edge.as(KEY)(`/conversations/${conversation}/runs/${run}/regenerate`, { json: {} })
    },
  },
  'a task that the run of an event has stored': {
    script: (before, calls) => [() => ask(setSchedule()), say('Stored.'), ...inOneRun(before, calls)],
    parts: [eventsOf(), scheduleTools],
    go: taskOfEvent,
  },
  'the target of the answer to an event': {
    script: (before) => [...before, say('Done.')],
    parts: [eventsOf()],
    isDirect: true,
    go: async (edge, [[name, args = {}] = ['']]) => {
      await runOfEvent(edge, { target: { tool: name, arguments: args } })
      const log = vi.spyOn(console, 'error')
      await edge.conversations.getByName('v1/acme/c').alarm()
      await edge.settle()
      return log.mock.calls
    },
  },
  'a restored copy whose turn is run again': {
    script: inTwoRuns,
    go: async (edge) => {
      const { body } = await inConversation(edge)
      const copy = await edge.as(RESTORER)('/backups/c')
      await edge.as(KEY)('/conversations/c', { method: 'DELETE' })
      // As a forger writes it: definitions and requests without what holds them back.
      const text = String(copy.body).replaceAll(/(?<=\\")(?:approval|annotations|scopes|marks)(?=\\")/g, 'x')
      expect(await edge.as(RESTORER)('/backups/c', { method: 'PUT', text })).toMatchObject({
        status: 201,
        body: { signed: false },
      })
      await edge.as(KEY)(`/conversations/c/runs/${body.id}/regenerate`, { json: {} })
    },
  },
  'a turn that is run again': {
    script: inTwoRuns,
    go: async (edge) => {
      const { body } = await inConversation(edge)
      await edge.as(KEY)(`/conversations/c/runs/${body.id}/regenerate`, { json: {} })
    },
  },
  'a response that another follows': {
    script: inTwoRuns,
    go: async ({ as }) => {
      const { body } = await as(KEY)('/v1/responses', { json: { input } })
      await as(KEY)('/v1/responses', { json: { input, previous_response_id: body.id } })
    },
  },
  'a fork': {
    script: inTwoRuns,
    go: async (edge) => {
      await inConversation(edge)
      const { body } = await edge.as(KEY)('/conversations/c/messages')
      const at = Math.max(...body.map(({ position }: { position: number }) => position))
      await edge.as(KEY)('/conversations/c/fork', { json: { at, id: 'd' } })
      await edge.as(KEY)('/conversations/d/runs', { json: { input } })
    },
  },
}

interface Result {
  /** How many calls have reached the tool. */
  readonly reached: number
  /** How many of them ran at the same time. */
  readonly most: number
  /** All that the model and the caller were given. */
  readonly output: string
  /** How many tools of the provider the model was told of, in each request. */
  readonly formCounts: readonly number[]
}

/** A control of tools, and what must be so if it holds. */
interface Control {
  readonly policy?: object
  readonly vars?: object
  readonly definition?: Partial<ToolDefinition>
  /** The tool that is called: a bound one, or a stored one that sends a request. Default: bound. */
  readonly isStored?: boolean
  readonly calls?: readonly object[]
  /** Steps before: a tool that is called, or the whole answer of the model. */
  readonly before?: readonly (string | Script)[]
  /** Parts that the edge has beside all of its own. */
  readonly parts?: readonly Part[]
  /** Whether the tool `card`, which reads marked data, fails with this data in its message. */
  readonly cardFails?: boolean
  readonly answer?: string
  /** Whether the tool asks a person before it does anything. */
  readonly asks?: boolean
  /** The usage that the tool reports. */
  readonly usage?: Usage
  /** Brought about after the tool was seen and stored, before it is called. */
  readonly prepare?: (
    edge: ControlledEdge,
    bank: Tool[],
    state: { isLost: boolean; readonly call: (args: object) => Promise<unknown> },
  ) => Promise<void>
  /** Rules of the setup, as an operator writes them in `src/setup.ts`. */
  readonly loop?: LoopSetup
  /** Whether another Worker sets the control for its tools, by variables or a setup of its own. */
  readonly isOfSetup?: boolean
  /** Whether the control concerns runs alone. */
  readonly isOfRuns?: boolean
  /** Whether it is tried with a bound tool alone, under one name. */
  readonly isOfBound?: boolean
  readonly holds: (result: Result, way: Way) => void
}

const isNotReached: Control['holds'] = ({ reached }) => expect(reached).toBe(0)
const noRate = { limit: async () => ({ success: false }) }
/** What the runtime throws for a Worker that is lost. */
const LOST = Object.assign(new Error('Network connection lost.'), { retryable: true })

/** A decision model that is sure of every call, and the variable without which a policy may not say `decide`. */
const SURE_JUDGE: Judge = { call: async () => ({ ok: true, model: 'systemone/m', answer: 'go_ahead' }) }
const DECIDES = { DECISION_MODEL: 'systemone/m' }

/** The ways in which a user has written what the run is for, in a conversation. */
const OF_USERS = [
  'a run in a conversation',
  'a program in a conversation',
  'a resumed run',
  'a run that resumes after its key has lost a scope',
  'a program of a run that resumes after its key has lost a scope',
  'a run after that of an event',
  'a response that another follows',
  'a fork',
]

const CONTROLS: Readonly<Record<string, Control>> = {
  'no control': { holds: ({ reached }, { isHandedOut = false }) => expect(reached).toBe(isHandedOut ? 0 : 1) },
  'the approval of a policy': { policy: { pay: { approval: 'always' } }, holds: isNotReached },
  'the approval of the tool': { definition: { approval: 'always' }, holds: isNotReached },
  'a policy that says decide, where a model is sure of everything': {
    policy: { pay: { approval: 'decide' } },
    vars: DECIDES,
    loop: { judge: SURE_JUDGE },
    isOfBound: true,
    // Only where a user has written what the run is for may a model answer for a person.
    holds: ({ reached }, way) => expect(reached > 0).toBe(OF_USERS.some((name) => WAYS[name] === way)),
  },
  'the approval of the tool, whatever a model is sure of': {
    policy: { pay: { approval: 'decide' } },
    definition: { approval: 'always' },
    vars: DECIDES,
    loop: { judge: SURE_JUDGE },
    isOfBound: true,
    holds: isNotReached,
  },
  'scopes and the choice of tools, whatever a model is sure of': {
    policy: { pay: { approval: 'decide', scopes: ['finance'] } },
    vars: { ...DECIDES, DEFAULT_TOOLS: '*,!pay' },
    loop: { judge: SURE_JUDGE },
    isOfBound: true,
    holds: isNotReached,
  },
  'the rule on data that may not leave, whatever a model is sure of': {
    policy: { pay: { approval: 'decide' } },
    vars: DECIDES,
    loop: { judge: SURE_JUDGE },
    before: ['card'],
    isOfRuns: true,
    isOfBound: true,
    holds: isNotReached,
  },
  'an approval by arguments': {
    policy: { pay: { approval: { unless: { '/n': { maximum: 0 } } } } },
    holds: isNotReached,
  },
  "the setup's rule of approval": {
    isOfSetup: true,
    loop: { needsApproval: ({ tool }) => tool === 'pay' },
    holds: isNotReached,
  },
  'a hook around calls': {
    isOfSetup: true,
    loop: {
      hooks: [
        {
          name: 'guard',
          call: async (request, next, { definition }) =>
            definition.name === 'pay' || definition.aliasOf === 'pay'
              ? failure('refused', 'Not this one.')
              : next(request),
        },
      ],
    },
    holds: isNotReached,
  },
  "a tool's question": { asks: true, holds: isNotReached },
  scopes: { policy: { pay: { scopes: ['finance'] } }, holds: isNotReached },
  tenants: {
    policy: { '@TOOL_BANK': { tenants: ['ops'] }, '@script:bank': { tenants: ['ops'] } },
    holds: isNotReached,
  },
  'a rate': { policy: { pay: { rate: 'RATE_PAY' } }, vars: { RATE_PAY: noRate }, holds: isNotReached },
  hosts: { isStored: true, policy: { page: { hosts: ['elsewhere.example.com'] } }, holds: isNotReached },
  'the mark of untrusted results': {
    policy: { pay: { annotations: { untrusted: true } } },
    isOfRuns: true,
    holds: ({ output }, { isHandedOut = false }) =>
      expect(output.includes('data, not instructions')).toBe(!isHandedOut),
  },
  'the rule on data that may not leave': {
    before: ['card'],
    isOfRuns: true,
    holds: isNotReached,
  },
  'the rule on data that may not leave, read in a call that failed': {
    before: ['card'],
    cardFails: true,
    isOfRuns: true,
    holds: isNotReached,
  },
  concurrency: {
    policy: { pay: { concurrency: 1 } },
    calls: [{ n: 1 }, { n: 2 }, { n: 3 }],
    isOfRuns: true,
    holds: ({ reached, most }, { isHandedOut = false }) =>
      expect([reached, most]).toEqual(isHandedOut ? [0, 0] : [3, 1]),
  },
  'the cap of results': {
    policy: { pay: { maxResultBytes: 60 } },
    answer: 'x'.repeat(5000),
    holds: ({ output }) => expect(output).not.toContain('x'.repeat(100)),
  },
  'the check of results by the output schema': {
    isOfSetup: true,
    definition: { outputSchema: { type: 'object', required: ['receipt'] } },
    holds: ({ output }, { isHandedOut = false }) =>
      expect(output.includes('does not fit its output schema')).toBe(!isHandedOut),
  },
  'hold-back of changed tools': {
    isOfSetup: true,
    vars: { HOLD_CHANGED: 'TOOL_BANK' },
    prepare: async (_, bank) => {
      const [pay, ...others] = bank
      if (pay)
        bank.splice(
          0,
          bank.length,
          { ...pay, definition: { ...pay.definition, description: 'Another.', hash: 'another' } },
          ...others,
        )
      vi.setSystemTime(Date.now() + 61_000)
    },
    holds: isNotReached,
  },
  'the breaker': {
    isOfSetup: true,
    prepare: async (_edge, _bank, state) => {
      state.isLost = true
      for (let at = 0; at < 5; at++) await state.call({ n: at })
    },
    holds: isNotReached,
  },
  'reported usage': {
    isOfSetup: true,
    isOfRuns: true,
    vars: { MAX_TOKENS: 20 },
    before: ['pay', 'pay'],
    usage: { inputTokens: -1e9, outputTokens: -1e308, cost: -1 },
    holds: ({ reached }) => expect(reached).toBeLessThan(3),
  },
  'the limit of calls of one tool': {
    isOfSetup: true,
    vars: { MAX_CALLS_PER_TOOL: { pay: 1 }, ON_LIMIT: 'model' },
    calls: [{ n: 1 }, { n: 2 }],
    isOfRuns: true,
    holds: ({ reached }, { isHandedOut = false }) => expect(reached).toBe(isHandedOut ? 0 : 1),
  },
}

const SURE = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object' } } }

function nobody(): never {
  throw new Error('This Worker has no Durable Objects')
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** Returns the policy and variables of a control that names the tool by this key. */
function renamed({ policy, vars }: Control, key: string): Pick<Control, 'policy' | 'vars'> {
  const rename = (value: object) =>
    Object.fromEntries(Object.entries(value).map(([name, each]) => [name === 'pay' ? key : name, each]))
  return {
    ...(policy && { policy: rename(policy) }),
    ...(vars && {
      vars: Object.fromEntries(
        Object.entries(vars).map(([name, value]) => [name, isByTool(name) ? rename(value) : value]),
      ),
    }),
  }
}

function isByTool(variable: string): boolean {
  return variable === 'MAX_CALLS_PER_TOOL'
}

interface Naming {
  /** The name under which the tool `pay` is on offer. */
  readonly offered: string
  /** The name or pattern by which policies and limits name it. */
  readonly key: string
  /** Its name on the server from which it comes. */
  readonly ownName?: string
}

interface PlayOptions {
  /** The tools are those of a Worker in a dispatch namespace, instead of a bound one. */
  readonly isDispatched?: boolean
  readonly naming?: Naming
}

async function play(way: Way, control: Control, { isDispatched = false, naming }: PlayOptions = {}): Promise<Result> {
  const { definition = {}, isStored = false, calls = [{ n: 1 }], before = [] } = control
  const { offered, key, ownName } = naming ?? { offered: 'pay', key: 'pay' }
  const { policy = {}, vars = {} } = renamed(control, key)
  let [reached, running, most] = [0, 0, 0]
  const call = (args: object) =>
    way.ofServer ? way.go(edge, [[offered, args]]) : edge.as(KEY)('/tools/pay/call', { json: { arguments: args } })
  const state = { isLost: false, call }
  const pay = tool(
    offered,
    async (_args, { input: answers }) => {
      if (control.asks === true && answers?.responses['sure'] === undefined) {
        const error = { code: 'input_required', message: 'Nobody can be asked.' }
        return { ok: false, error, input: { requests: { sure: SURE } } }
      }
      reached += 1
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      if (state.isLost) throw LOST
      const { answer = 'paid', usage } = control
      return usage ? { ok: true, content: [{ type: 'text', text: answer }], usage } : answer
    },
    {
      annotations: { readOnly: true },
      description: 'Pays a page.',
      ...(ownName !== undefined && { ownName }),
      ...definition,
      ...(way.ofServer && { metadata: { server: 'bank', ...way.ofServer } }),
    },
  )
  const marked = { untrusted: true, private: true, openWorld: false }
  const card = () => (control.cardFails ? failure('tool_failed', 'There is no card no. 1.') : 'no. 1')
  const others = Array.from({ length: way.others ?? 0 }, (_, at) => tool(`other${at}`))
  const page = way.ofServer && { metadata: { server: 'bank', ui: { resourceUri: 'ui://page' } } }
  const bank = [pay, tool('card', card, { annotations: marked, ...page }), ...others]
  const name = way.alias ?? (isStored ? 'page' : offered)
  const items = calls.map((args): Call => [name, args])
  const script = way.script(
    before.map((each) => (typeof each === 'string' ? ask([each]) : each)),
    items,
  )
  const model = scripted(script, 'test/scripted')
  const expert = { name: 'expert', description: 'Does it.', instructions: 'Do it.', tools: ['card', name] }
  const elsewhere = {
    MODEL: 'test/scripted',
    TOOL_BANK: workerOf(bank),
    CONVERSATIONS: { getByName: nobody },
    DIRECTORIES: { getByName: nobody },
  }
  const Experts = serveAgents((env: Env) => makeSetup(env, { providers: { test: () => () => model } }), [expert])
  const edge = controlledEdge({
    model,
    workers: isDispatched || way.ofServer ? {} : { TOOL_BANK: bank },
    keys: [KEY, SCHEDULER, WRITER, PROGRAM, RESTORER, ADMIN],
    vars: {
      ...(way.isElsewhere && { TOOL_EXPERTS: new Experts({} as ExecutionContext, elsewhere) }),
      ...(way.ofServer && { TOOL_BANK: workerOf(bank, 'mcp') }),
      ...(isDispatched && { DISPATCHER: { get: () => workerOf(bank) } }),
      TOOL_POLICY: policy,
      HTTP_TOOL_HOSTS: { [HOST]: [] },
      TOOL_SEARCH: 'off',
      ...vars,
      ...way.vars,
    },
    parts: [...(control.parts ?? []), ...(way.parts ?? [])],
    fetch: async () => {
      reached += 1
      return Response.json('read')
    },
    change: (edge) => {
      const hooks = [...(edge.loop?.hooks ?? []), ...(control.loop?.hooks ?? [])]
      const setup = { ...edge, loop: { ...edge.loop, ...control.loop, hooks } }
      const terms = { description: 'Does it.', instructions: 'Do it.', tools: ['card', name] }
      const clerk = { name: 'clerk', durable: true, ...terms }
      const agents = agentSource([clerk], setup)
      return { ...setup, tools: (caller) => inOrder([setup.tools(caller), agents]) }
    },
  })
  const common = { description: 'Pays a page.', inputSchema: { type: 'object' }, default: true }
  const http = { method: 'GET', url: `https://${HOST}/page` }
  const put = (path: string, json: object) => edge.as(ADMIN)(`/tools/${path}`, { method: 'PUT', json })
  if (isStored) expect((await put('page', { ...common, http })).status).toBe(201)
  for (const worker of isDispatched ? ['pay', 'card'] : [])
    expect((await put(worker, { worker: { script: 'bank' }, default: true })).status).toBe(201)
  if (way.alias !== undefined) {
    const target = { binding: 'TOOL_BANK', call: isStored ? 'page' : offered }
    // A stored tool has no alias.
    expect((await put(way.alias, { ...common, ...target })).status).toBe(isStored ? 422 : 201)
  }
  await edge.as(ADMIN)('/tools')
  await control.prepare?.(edge, bank, state)
  reached = most = 0
  const answer = await way.go(edge, items)
  const formCounts = edge.requests.map(({ providerTools: tell }) => tell?.('anthropic').forms.length ?? 0)
  return { reached, most, output: JSON.stringify([edge.requests, answer]), formCounts }
}

describe.each(Object.entries(CONTROLS))('%s holds', (_, control) => {
  const ways = Object.entries(WAYS).filter(
    ([, { isDirect, isElsewhere, ofServer }]) =>
      !(isDirect && control.isOfRuns) && !(isElsewhere && control.isOfSetup) && !(ofServer && control.isStored),
  )
  test.each(ways)('for a tool that is reached by %s', async (_, way) => {
    control.holds(await play(way, control), way)
  })
})

/** Ways on which text of others comes into a run, and what the same is where the trigger trusts it. */
const WAYS_OF_OTHERS: Readonly<Record<string, readonly Part[]>> = {
  'the run of an event': [eventsOf([])],
  'the run of an event whose turn a person runs again': [eventsOf([])],
  'a run after that of an event': [eventsOf([])],
  'a task that the run of an event has stored': [eventsOf([]), scheduleTools],
  'the turn of an agent of an event’s run that a caller runs again': [eventsOf([])],
  'the target of the answer to an event': [eventsOf([])],
}

describe.each(Object.entries(WAYS_OF_OTHERS))('text that comes by %s', (name, parts) => {
  // What it reads is private alone.
  const reads = { before: ['card'], policy: { card: { annotations: { untrusted: false } } }, holds: isNotReached }
  const { [name]: way } = WAYS
  if (!way) throw new Error(`There is no way "${name}"`)

  test('is untrusted: once private data was read, nothing leaves without a person', async () => {
    isNotReached(await play(way, reads), way)
  })

  test('is not where the trigger trusts it', async () => {
    expect((await play({ ...way, parts }, reads)).reached).toBe(1)
  })

  test('is not where the edge has no rule on data that may not leave', async () => {
    expect((await play(way, { ...reads, vars: { TAINT_RULE: 'off' } })).reached).toBe(1)
  })
})

/** Runs of events differ from others in what is said in them, and not in how they find a tool. */
const isOfEvent = ({ parts }: Way) => parts !== undefined

const ofBoundWorkers = (way: Way) =>
  way.alias !== undefined || way.isElsewhere === true || way.isOfBound === true || isOfEvent(way)

describe.each(Object.entries(CONTROLS).filter(([, { isStored, isOfBound }]) => !isStored && !isOfBound))(
  '%s holds for a tool of a Worker in a dispatch namespace',
  (_, control) => {
    const ways = Object.entries(WAYS).filter(([, way]) => !ofBoundWorkers(way) && !(way.isDirect && control.isOfRuns))
    test.each(ways)('that is reached by %s', async (_, way) => {
      control.holds(await play(way, control, { isDispatched: true }), way)
    })
  },
)

/** A search that the provider of the model runs. */
const SEARCH = providerTools({ search: { anthropic: { type: 'web_search_20250305' } } })
const SEARCHED: ModelEvent = { type: 'provider.call', tool: 'web_search', kind: 'web_search', input: {}, ok: true }
const searchAndAsk = (name: string): Script => [SEARCHED, ...ask([name])]
const isNotTold: Control['holds'] = ({ formCounts }) => expect(formCounts.at(-1)).toBe(0)

const PROVIDER_CONTROLS: Readonly<Record<string, Control>> = {
  // A search has not found it.
  'no control': {
    holds: ({ formCounts }, { vars }) => expect(formCounts.includes(1)).toBe(!(vars && 'TOOL_SEARCH' in vars)),
  },
  scopes: { policy: { '@provider': { scopes: ['finance'] } }, holds: isNotTold },
  tenants: { policy: { search: { tenants: ['ops'] } }, holds: isNotTold },
  'the list of default tools': { vars: { DEFAULT_TOOLS: '*,!search' }, holds: isNotTold },
  'the rule on private data': { before: ['card'], holds: isNotTold },
  'the mark of what it finds': {
    policy: { card: { annotations: { untrusted: false } } },
    before: [searchAndAsk('card')],
    holds: isNotReached,
  },
  'the price of its searches': {
    vars: { MAX_COST: 0.02, MODEL_PRICES: { 'test/scripted': { input: 0, output: 0, webSearches: 10 } } },
    before: Array.from({ length: 4 }, (_, n) => [
      ...ask(['pay', { n: 7 + n }]).slice(0, 1),
      { type: 'finish', finish: 'tool_calls', usage: { inputTokens: 1, outputTokens: 1, webSearches: 1 } },
    ]),
    holds: ({ reached }) => expect(reached).toBeLessThan(3),
  },
}

describe.each(Object.entries(PROVIDER_CONTROLS))('%s holds for a tool that the provider runs', (_, control) => {
  const ways = Object.entries(WAYS).filter(
    ([, way]) => !way.isDirect && !way.isElsewhere && !way.isHandedOut && !isOfEvent(way),
  )
  test.each(ways)('in a request that comes by %s', async (_, way) => {
    control.holds(await play(way, { ...control, parts: [SEARCH] }), way)
  })
})

const LONG_NAME = `bank.${'pay.'.repeat(20)}out`

const NAMINGS: Readonly<Record<string, Naming>> = {
  'its own name, which has a dot': { offered: 'pay_x2e_out', key: 'pay.out' },
  'the name on offer': { offered: 'pay_x2e_out', key: 'pay_x2e_out' },
  'its own name, which begins with a digit': { offered: '_x32_pay', key: '2pay' },
  'its own name, which is cut on offer': {
    offered: wireName(LONG_NAME),
    key: LONG_NAME,
    ownName: LONG_NAME,
  },
  'its name on a server whose tools get a prefix': { offered: 'acme_pay', key: 'bank.pay', ownName: 'bank.pay' },
}

const controlsByName = Object.entries(CONTROLS).filter(
  ([, { policy = {}, vars = {}, isOfBound }]) => !isOfBound && ('pay' in policy || Object.keys(vars).some(isByTool)),
)

describe.each(Object.entries(NAMINGS))('a rule that names a tool by %s', (_, naming) => {
  describe.each(controlsByName)('holds: %s', (_, control) => {
    const ways = Object.entries(WAYS).filter(
      ([, way]) => !(way.isDirect && control.isOfRuns) && !(way.isElsewhere && control.isOfSetup) && !isOfEvent(way),
    )
    test.each(ways)('for a tool that is reached by %s', async (_, way) => {
      control.holds(await play(way, control, { naming }), way)
    })
  })
})

describe('a request with `eager: true`', () => {
  const prices = { 'test/scripted': { input: 1e6, output: 1e6 } }
  test.each([
    ['tokens', { MAX_TOKENS: 20 }],
    ['cost', { MAX_COST: 20, MODEL_PRICES: prices }],
  ])('has the edge’s limit on %s', async (which, vars) => {
    let reached = 0
    const pay = tool('pay', () => `paid ${++reached}`, { annotations: { readOnly: true } })
    const { as } = controlledEdge({
      workers: { TOOL_BANK: [pay] },
      keys: [KEY],
      vars,
      script: [...Array.from({ length: 8 }, (_, n) => ask(['pay', { n }])), say('Done.')],
    })
    const { body } = await as(KEY)('/runs', { json: { input, eager: true } })
    expect([reached, body.run.finish, body.run.which]).toEqual([1, 'limit', which])
  })
})
