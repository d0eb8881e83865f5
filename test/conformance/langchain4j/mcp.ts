import { json } from 'node:stream/consumers'
import { expect, onTestFinished, vi } from 'vitest'
import { searchHook } from '../../../src/search/hook.ts'
import { TOOL_SEARCH } from '../../../src/contract/tool.ts'
import { ask, play, say } from '../../fixtures/play.ts'
import { type McpServer, Refusal } from '../../tools/mcp-server.ts'
import { bringing, toolsOf, listedTool, serving, texts, toolsFrom } from '../mcp-scene.ts'
import { different, type Row, same } from '../rows.ts'
import { type CallSpec, namesIn, native, resultsIn } from '../scene.ts'
import { eventually } from '../../fixtures/eventually.ts'

const LOOK = listedTool('look')

/** Rows 96 to 100: tools of MCP servers. */
export const mcp: readonly Row[] = [
  {
    row: 96,
    says: 'tools of an MCP server are called: texts, structured results, errors, and calls that take too long',
    verdict: different('a call that takes too long is an error, as nobody knows whether it took effect', async () => {
      const server = await serving([LOOK], undefined, '2025-11-25')
      const tools = await toolsOf(server)
      const resultsOf = async (answer: typeof server.call) => {
        server.call = answer
        const { json, requests } = await native({
          script: [ask(['look', { text: 'Hi' }]), say('ok')],
          tools,
        })
        return [json.calls.map(({ ok }) => ok), resultsIn(requests[1]?.messages)]
      }
      expect(await resultsOf(({ arguments: args }) => ({ content: texts(args.text, 'again') }))).toEqual([
        [true],
        ['Hi\nagain'],
      ])
      expect(await resultsOf(() => ({ content: [], structuredContent: { said: 'Hi' } }))).toEqual([
        [true],
        ['{"said":"Hi"}'],
      ])
      expect(await resultsOf(() => ({ content: texts('No such city.'), isError: true }))).toEqual([
        [false],
        ['No such city.'],
      ])
      expect(await resultsOf(() => Promise.reject(new Refusal(-32_603, 'Internal error')))).toEqual([
        [false],
        ['The server failed to run the call.'],
      ])
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      onTestFinished(() => void vi.useRealTimers())
      const results = await resultsOf(async (_, { closed }) => {
        vi.advanceTimersByTime(30_000)
        await closed
        return { content: [] }
      })
      expect(results).toEqual([
        [false],
        ['The tool "look" did not answer within 30000 ms; whether it took effect is unknown.'],
      ])
      await eventually(() => expect(server.of('notifications/cancelled')).toHaveLength(1))
    }),
  },
  {
    row: 97,
    says: 'names and definitions of an MCP server may be mapped, and calls go to the original names',
    verdict: different('the configuration says how, and no function of the application', async () => {
      const [first, second, broken] = [
        await serving([LOOK, listedTool('pay', { annotations: { readOnlyHint: true } })]),
        await serving([LOOK]),
        await serving([]),
      ]
      broken.intercept = (_, response) => Boolean(response.writeHead(503).end())
      const tools = await toolsOf(
        { server: broken, prefix: 'gone_' },
        {
          server: first,
          prefix: 'a_',
          rename: { pay: 'send_money' },
          hints: false,
          approval: 'always',
          timeoutMs: 500,
        },
        { server: second, prefix: 'b_' },
      )
      const inputSchema = { type: 'object', properties: {} }
      const rest = { inputSchema, annotations: {}, version: '1', hash: expect.any(String) }
      const metadata = { server: expect.any(String) }
      const look = { title: 'look', ownName: 'look', description: 'Test tool look', ...rest }
      const pay = { title: 'pay', ownName: 'pay', description: 'Test tool pay', ...rest }
      expect(tools.map(({ definition }) => definition)).toEqual([
        { ...look, name: 'a_look', approval: 'always', timeoutMs: 500, metadata },
        { ...pay, name: 'send_money', approval: 'always', timeoutMs: 500, metadata },
        { ...look, name: 'b_look', timeoutMs: 30_000, metadata },
      ])
      const { requests, state } = await play({
        script: [ask(['b_look']), say('ok')],
        tools,
        loop: { hooks: [searchHook({ when: 'on', always: ['b_look'] })] },
      })
      expect(requests.map(namesIn)).toEqual([
        [TOOL_SEARCH, 'b_look'],
        [TOOL_SEARCH, 'b_look'],
      ])
      expect(resultsIn(state.messages)).toEqual(['look done'])
      expect([first, second].map((server) => server.of('tools/call').length)).toEqual([0, 1])
    }),
  },
  {
    row: 98,
    says: '`_meta` of an MCP result becomes attributes, which no model sees, and structured results win',
    verdict: same(async () => {
      const server = await serving([LOOK])
      const tools = await toolsOf(server)
      const note = { 'example.com/note': 'beside' }
      const resultTextOf = async (result: object) => {
        server.call = () => result
        const { json, requests } = await native({ script: [ask(['look']), say('ok')], tools })
        expect(JSON.stringify(requests)).not.toContain('beside')
        expect(json.calls[0]?.metadata).toEqual(note)
        return resultsIn(requests[1]?.messages)
      }
      const reserved = { progressToken: 1, 'io.modelcontextprotocol/serverInfo': {}, 'tools.mcp.com/x': 1 }
      expect(await resultTextOf({ content: texts('Rain'), _meta: { ...note, ...reserved } })).toEqual(['Rain'])
      expect(await resultTextOf({ content: texts('Rain'), structuredContent: { sky: ['grey'] }, _meta: note })).toEqual(
        ['{"sky":["grey"]}'],
      )
      // JavaScript has no number for these; a text keeps their digits, but bounds in schemas stay numbers.
      const [large, larger] = ['9007199254740993', '123456789012345678901234567890']
      const value = `{ "id": ${large}, "ids": [-${larger}, 7, 0.1], "max": 9007199254740991 }`
      const schema = `{ "type": "object", "properties": { "id": { "type": "integer", "maximum": ${larger} } } }`
      for (const form of ['application/json', 'text/event-stream'] as const) {
        const exact = await serving([])
        exact.intercept = answering(form, {
          'tools/list': `{ "tools": [{ "name": "look", "inputSchema": ${schema} }] }`,
          'tools/call': `{ "content": [], "structuredContent": ${value} }`,
        })
        const { requests } = await native({ script: [ask(['look']), say('ok')], tools: await toolsOf(exact) })
        expect(resultsIn(requests[1]?.messages)).toEqual([
          `{"id":"${large}","ids":["-${larger}",7,0.1],"max":9007199254740991}`,
        ])
      }
    }),
  },
  {
    row: 99,
    says: 'schemas and annotations of MCP tools are taken over, as far as there are words for them',
    verdict: different(
      'schemas as they are: bounds, defaults and references hold, and arguments are checked',
      async () => {
        const inputSchema = {
          type: 'object',
          properties: {
            city: { type: ['string', 'null'], minLength: 2, description: 'Its name' },
            days: { type: 'integer', minimum: 1, maximum: 14, default: 3 },
            when: { anyOf: [{ type: 'string', format: 'date' }, { $ref: '#/$defs/Span' }] },
          },
          required: ['city'],
          anyOf: [{ required: ['days'] }, { required: ['when'] }],
          $defs: { Span: { type: 'object', properties: { from: { type: 'string' } }, required: ['from'] } },
        }
        const marked = (type: string, header: string) => ({
          type: 'object',
          properties: { region: { type, 'x-mcp-header': header } },
        })
        const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
        const outputSchema = { type: 'object', properties: { sky: { type: 'string' } } }
        const server = await serving([
          listedTool('look', {
            title: 'Look',
            inputSchema,
            outputSchema,
            annotations: { ...hints, title: 'Not this' },
          }),
          listedTool('there', { inputSchema: marked('string', 'Region') }),
          listedTool('number', { inputSchema: marked('number', 'Region') }),
          listedTool('spaced', { inputSchema: marked('string', 'A Region') }),
          listedTool('far', {
            inputSchema: { type: 'object', properties: { a: { $ref: 'https://example.com/a.json' } } },
          }),
        ])
        const tools = await toolsOf(server)
        const metadata = { server: expect.any(String) }
        const meta = { version: '1', hash: expect.any(String), timeoutMs: 30_000, metadata }
        expect(tools.map(({ definition }) => definition)).toEqual([
          {
            ...meta,
            name: 'look',
            title: 'Look',
            description: 'Test tool look',
            inputSchema,
            outputSchema,
            annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
          },
          {
            ...meta,
            name: 'there',
            description: 'Test tool there',
            inputSchema: { type: 'object', properties: { region: { type: 'string' } } },
            annotations: {},
          },
        ])
        const calls: CallSpec[] = [
          ['look', { city: 'Rome', when: { from: 'May' } }],
          ['look', { city: 'Rome', days: 0 }],
          ['look', { city: 'Rome', when: {} }],
          ['look', { city: 'Rome' }],
          ['there', { region: 'eu' }],
        ]
        const { json } = await native({ script: [ask(...calls), say('ok')], tools })
        expect(json.calls.map(({ ok }) => ok)).toEqual([true, false, false, false, true])
        const regions = server.of('tools/call').map(({ headers }) => headers['mcp-param-region'])
        expect(new Set(regions)).toEqual(new Set([undefined, 'eu']))
      },
    ),
  },
  {
    row: 100,
    says: 'resources of an MCP server may be tools, and lists are refreshed',
    verdict: different(
      'no tool reads a resource that the server has no tool for; what results hold of them is told',
      async () => {
        vi.useFakeTimers({ toFake: ['Date'] })
        onTestFinished(() => void vi.useRealTimers())
        const server = await serving([LOOK], () => ({
          content: [
            { type: 'resource', resource: { uri: 'file:///a', text: 'Of the resource' } },
            { type: 'resource_link', uri: 'file:///b', name: 'b', description: 'More of it' },
          ],
        }))
        const worker = bringing({ server, ttlMs: 60_000 })
        const names = async () => (await worker.describe()).tools.map(({ name }) => name)
        const { requests } = await native({ script: [ask(['look']), say('ok')], tools: await toolsFrom(worker) })
        expect(resultsIn(requests[1]?.messages)).toEqual(['Of the resource\nb\nfile:///b\nMore of it'])
        server.tools = [LOOK, listedTool('more')]
        vi.advanceTimersByTime(59_999)
        expect(await names()).toEqual(['look'])
        vi.advanceTimersByTime(1)
        expect(await names()).toEqual(['look', 'more'])
        server.call = (_, talk) => {
          talk.send({ method: 'notifications/tools/list_changed' })
          return { content: [] }
        }
        await native({ script: [ask(['look']), say('ok')], tools: await toolsFrom(worker) })
        server.tools = []
        expect(await names()).toEqual([])
        expect(new Set(server.methods)).toEqual(new Set(['server/discover', 'tools/list', 'tools/call']))
      },
    ),
  },
]

/** Answers requests of these methods in this form, with results of which these are the texts. */
function answering(
  form: 'application/json' | 'text/event-stream',
  results: Readonly<Record<string, string>>,
): McpServer['intercept'] {
  return (request, response) => {
    const result = results[String(request.headers['mcp-method'])]
    if (result === undefined) return false
    void json(request).then((message) => {
      const { id } = message as { id: number }
      const answer = `{ "jsonrpc": "2.0", "id": ${id}, "result": ${result} }`
      response.writeHead(200, { 'content-type': form })
      response.end(form === 'application/json' ? answer : `data: ${answer}\n\n`)
    })
    return true
  }
}
