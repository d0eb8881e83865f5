import { describe, expect, test } from 'vitest'
import type { Hook } from '../../src/contract/hook.ts'
import { contentText, type Message } from '../../src/contract/message.ts'
import type { Setup } from '../../src/contract/setup.ts'
import type { ToolSource } from '../../src/contract/tool.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

const model = 'test/scripted'
const user = { role: 'user', content: 'What time is it?' }
const parameters = { type: 'object', properties: { zone: { type: 'string' } } }
const NAME = 'edgecall.tools.clock'

/** How an API declares a tool of the caller, hands out its call, and takes the result. */
interface Surface {
  readonly path: string
  readonly body: (tools: readonly string[] | undefined, more?: object) => object
  readonly callOf: (answer: any) => { readonly id: string; readonly name: string }
  readonly next: (answer: any, id: string) => object
}

const chat: Surface = {
  path: '/v1/chat/completions',
  body: (names, more) => {
    const tools = names?.map((name) => ({ type: 'function', function: { name, description: 'Mine.', parameters } }))
    return { model, messages: [user], tools, ...more }
  },
  callOf: ({ choices: [{ message }] }) => ({ id: message.tool_calls[0].id, name: message.tool_calls[0].function.name }),
  next: ({ choices: [{ message }] }, tool_call_id) => ({
    messages: [user, message, { role: 'tool', tool_call_id, content: 'noon' }],
  }),
}

const responses: Surface = {
  path: '/v1/responses',
  body: (names, more) => {
    const tools = names?.map((name) => ({ type: 'function', name, description: 'Mine.', parameters }))
    return { model, input: [user], store: false, tools, ...more }
  },
  callOf: ({ output }) => ({ id: output.at(-1).call_id, name: output.at(-1).name }),
  next: ({ output }, call_id) => ({
    input: [user, ...output, { type: 'function_call_output', call_id, output: 'noon' }],
  }),
}

const messagesApi: Surface = {
  path: '/v1/messages',
  body: (names, more) => {
    const tools = names?.map((name) => ({ name, description: 'Mine.', input_schema: parameters }))
    return { model, max_tokens: 100, messages: [user], tools, ...more }
  },
  callOf: ({ content }) => content.at(-1),
  next: ({ content }, tool_use_id) => ({
    messages: [
      user,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id, content: 'noon' }] },
    ],
  }),
}

const SURFACES = [
  ['Chat Completions', chat],
  ['Responses', responses],
  ['Messages', messagesApi],
] as const

/** An edge with a clock, which notes that it ran, and another tool. */
function clockEdge(script: readonly Script[], setup: Partial<Setup> = {}, vars: Record<string, string> = {}) {
  const runs: string[] = []
  const note = (name: string) => tool(name, () => `${name} ran: ${runs.push(name)}`)
  return { runs, edge: keptEdge({ script, tools: [note('clock'), note('add')], setup, vars }) }
}

const toldOf = (edge: KeptEdge) =>
  edge.requests.map(({ tools }) => tools.map(({ name, description }) => `${name}: ${description}`))
const CALLERS = ['add: Test tool add', 'clock: Mine.']
const EDGES = ['clock: Test tool clock', 'add: Test tool add']

describe.each(SURFACES)('a tool of the caller with the name of a tool of the edge: %s', (_, surface) => {
  const { path, body, callOf, next } = surface
  const script = [ask(['clock', { zone: 'UTC' }]), say('Noon.')]

  test('is the only one of its name, and the caller alone runs it', async () => {
    const { runs, edge } = clockEdge(script)
    const first = await edge.post(path, body(['clock']))
    const answer = await first.json()
    expect([first.status, first.headers.get('edgecall-ignored'), callOf(answer).name]).toEqual([200, NAME, 'clock'])
    const second = await edge.post(path, body(['clock'], next(answer, callOf(answer).id)))
    expect([second.status, second.headers.get('edgecall-ignored')]).toEqual([200, NAME])
    expect(await second.text()).toContain('Noon.')
    expect([runs, toldOf(edge)]).toEqual([[], [CALLERS, CALLERS]])
    expect(edge.requests[1]?.messages.at(-1)).toMatchObject({ tool: 'clock', content: [{ text: 'noon' }] })
  })

  test('is so in a stream, and if the request names the tool of the edge too', async () => {
    const { runs, edge } = clockEdge(script)
    const more = { stream: true, edgecall: { tools: ['clock', 'add'] } }
    const response = await edge.post(path, body(['clock'], more))
    expect(await response.text()).toContain('clock')
    expect([response.headers.get('edgecall-ignored'), runs, toldOf(edge)]).toEqual([NAME, [], [CALLERS]])
  })

  test('is refused where nothing is ignored', async () => {
    const { runs, edge } = clockEdge(script, {}, { CLIENT_MEMBERS: 'strict' })
    const response = await edge.post(path, body(['clock']))
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('tool_name_conflict')])
    expect([runs, edge.requests]).toEqual([[], []])
  })

  test('is told to the operator', async () => {
    const entries: object[] = []
    const name = `of_${path.replace(/\W/g, '_')}`
    const report = (entry: object) => void entries.push(entry)
    const edge = keptEdge({ script: [say('Hi.')], tools: [tool(name)], setup: { report } })
    await edge.post(path, body([name]))
    expect(entries).toEqual([{ event: 'members.ignored', route: path, members: [`edgecall.tools.${name}`] }])
  })

  test('is not replaced by a tool that joins the run later', async () => {
    const foundNames: string[] = []
    const search: Hook = {
      name: 'search',
      activate: async (names, { find }) => {
        const tools = await find(['clock', 'add'])
        foundNames.push(...tools.map(({ definition }) => definition.name))
        return [...names, ...tools, 'clock']
      },
    }
    const { runs, edge } = clockEdge(script, { loop: { hooks: [search] } })
    const answer = await (await edge.post(path, body(['clock']))).json()
    expect([callOf(answer).name, foundNames, runs, toldOf(edge)]).toEqual(['clock', ['add'], [], [CALLERS]])
  })

  test('leaves what the tool of the edge has done in a conversation as it is', async () => {
    const { runs, edge } = clockEdge([
      ask(['clock']),
      say('One.'),
      ask(['clock']),
      say('Two.'),
      ask(['clock']),
      say('3.'),
    ])
    const headers = { 'x-conversation-id': 'c' }
    const post = async (more: object) => (await edge.post(path, { ...more, store: undefined }, headers)).json()
    await post(body(undefined))
    const answer = await post(body(['clock']))
    expect(runs).toEqual(['clock'])
    await post(body(['clock'], next(answer, callOf(answer).id)))
    await post(body(undefined))
    expect(runs).toEqual(['clock', 'clock'])
    const results = (messages: readonly Message[] = []) =>
      messages.flatMap(({ role, content }) => (role === 'tool' ? contentText(content) : []))
    expect(results(edge.requests.at(-1)?.messages)).toEqual(['clock ran: 1', 'noon', 'clock ran: 2'])
    expect(toldOf(edge)).toEqual([EDGES, EDGES, CALLERS, CALLERS, EDGES, EDGES])
  })

  test('is not in the way of a run that began before the edge had its tool', async () => {
    const ran: string[] = []
    const tools = [tool('add')]
    const find = async (names: readonly string[]) => tools.filter(({ definition }) => names.includes(definition.name))
    const source: ToolSource = { list: async () => ({ tools, unavailable: [] }), offered: async () => tools, find }
    const edge = keptEdge({ script, setup: { tools: () => source } })
    const first = await edge.post(path, body(['clock']))
    const answer = await first.json()
    tools.push(tool('clock', () => ran.push('clock')))
    const second = await edge.post(path, body(['clock'], next(answer, callOf(answer).id)))
    const ignored = [first, second].map(({ headers }) => headers.get('edgecall-ignored'))
    expect([second.status, ignored, ran]).toEqual([200, [null, NAME], []])
    expect(toldOf(edge)).toEqual([CALLERS, CALLERS])
  })
})

test.each([
  ['/v1/messages/count_tokens', messagesApi],
  ['/v1/responses/input_tokens', responses],
] as const)('such a tool is counted, too: %s', async (path, { body }) => {
  const { edge } = clockEdge([])
  const response = await edge.post(path, body(['clock'], { max_tokens: undefined, store: undefined }))
  expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([200, NAME])
})

test('the name by which models read on in long results stays the edge’s', async () => {
  const { edge } = clockEdge([])
  const response = await edge.post(chat.path, chat.body(['read_result']))
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'tool_name_conflict' } }])
})
