import * as v from 'valibot'
import { expect } from 'vitest'
import type { Tool } from '../../../src/contract/tool.ts'
import { content, defineTool, nameOf, ToolError } from '../../../src/tool.ts'
import { testEdge } from '../../fixtures/edge.ts'
import { ask, say } from '../../fixtures/play.ts'
import { Refusal } from '../../tools/mcp-server.ts'
import { bringing, toolsOf, type ServerSpec, listedTool, serving, texts, toolsFrom } from '../mcp-scene.ts'
import { different, type Row, same } from '../rows.ts'
import { carried, edgeWith, native, resultsIn } from '../scene.ts'

/** Rows 139 to 147: tools of MCP servers, and ours for MCP clients. */
export const mcp: readonly Row[] = [
  {
    row: 139,
    says: 'a call without arguments sends an empty object',
    verdict: same(async () => {
      const server = await serving([listedTool('look')])
      await native({
        script: [ask(['look', ''], ['look', ' \n'], ['look', 'null'], ['look', {}]), say('ok')],
        tools: await toolsOf(server),
      })
      expect(server.of('tools/call').map(({ params }) => params['arguments'])).toEqual([{}, {}, {}, {}])
    }),
  },
  {
    row: 140,
    says: 'an error that a server answers is told to the model, and so is one on the way to it',
    verdict: different("in the server's words alone; how the way to it failed is for operators", async () => {
      const server = await serving([listedTool('look')], () => ({
        content: texts('No such city.', 'Try Rome.'),
        isError: true,
      }))
      const tools = await toolsOf(server)
      const scene = { script: [ask(['look']), say('Sorry')], tools }
      const outcome = await native(scene)
      expect([outcome.json.answer, resultsIn(outcome.requests[1]?.messages)]).toEqual([
        'Sorry',
        ['No such city.\nTry Rome.'],
      ])
      server.intercept = (_, response) => Boolean(response.writeHead(502).end())
      const reports: object[] = []
      const lost = edgeWith(scene.script, tools, { report: (entry) => reports.push(entry) })
      expect(await lost.run()).toMatchObject({ answer: 'Sorry' })
      expect(resultsIn(lost.requests[1]?.messages)).toEqual(['The server cannot be reached now. Try again later.'])
      expect(reports).toMatchObject([{ event: 'call.failed', detail: expect.stringContaining('HTTP 502') }])
    }),
  },
  {
    row: 141,
    says: 'an error of the protocol fails the run',
    verdict: different('the model is told that the call failed, unless TOOL_ERRORS has it fail the run', async () => {
      const server = await serving([listedTool('look')], () => Promise.reject(new Refusal(-32_603, 'Null in line 7')))
      const scene = { script: [ask(['look']), say('Sorry')], tools: await toolsOf(server) }
      const outcome = await native(scene)
      expect([outcome.json.answer, resultsIn(outcome.requests[1]?.messages)]).toEqual([
        'Sorry',
        ['The server failed to run the call.'],
      ])
      const failed = await native({ ...scene, vars: { TOOL_ERRORS: 'fail' } })
      expect(failed.json).toMatchObject({
        status: 502,
        code: 'mcp_error',
        detail: 'The server failed to run the call.',
      })
    }),
  },
  {
    row: 142,
    says: 'of a result in parts the model is told all, images too, as a JSON list of them',
    verdict: different('as parts, so that an image can be seen', async () => {
      const parts = [
        ...texts('First content', 'Second content'),
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ]
      const server = await serving([listedTool('look')], () => ({ content: parts }))
      const { requests } = await native({ script: [ask(['look']), say('ok')], tools: await toolsOf(server) })
      expect(requests[1]?.messages.at(-1)).toMatchObject({
        role: 'tool',
        ok: true,
        content: [...texts('First content', 'Second content'), { type: 'image', data: 'AAAA', mediaType: 'image/png' }],
      })
    }),
  },
  {
    row: 143,
    says: 'tools of one name from two servers are told apart by a number, or refused',
    verdict: different("by their servers' names, and after a list has changed just as before", async () => {
      const first = await serving([listedTool('look')], (_, talk) => {
        talk.send({ method: 'notifications/tools/list_changed' })
        return { content: texts('of the first') }
      })
      const second = await serving([listedTool('look')], () => ({ content: texts('of the second') }))
      const worker = bringing(first, { server: second, name: 'far' })
      const script = [ask(['look'], ['far_look']), say('ok')]
      const { requests } = await native({ script, tools: await toolsFrom(worker) })
      expect(resultsIn(requests[1]?.messages)).toEqual(['of the first', 'of the second'])
      expect(second.of('tools/call').map(({ params }) => params['name'])).toEqual(['look'])
      first.tools = [listedTool('more'), listedTool('look')]
      const { tools } = await worker.describe()
      expect(tools.map(({ name }) => name)).toEqual(['more', 'look', 'far_look'])
    }),
  },
  {
    row: 144,
    says: 'which tools of a server count can be said by name, by server, and by both',
    verdict: same(async () => {
      const tools = ['get_city', 'get_user', 'set_user'].map((name) => listedTool(name))
      const [first, second] = [await serving(tools), await serving(tools)]
      const names = async (...servers: readonly ServerSpec[]) => namesOf(await toolsOf(...servers))
      expect(await names({ server: first, tools: ['get_*'] })).toEqual(['get_city', 'get_user'])
      expect(await names({ server: first, tools: [] }, second)).toEqual(['get_city', 'get_user', 'set_user'])
      expect(
        await names({ server: first, tools: ['*_user'], prefix: 'a_' }, { server: second, tools: ['get_city'] }),
      ).toEqual(['a_get_user', 'a_set_user', 'get_city'])
    }),
  },
  {
    row: 145,
    says: 'long and foreign names are made such as models take: what does not fit is dropped, and the end is kept',
    verdict: different('nothing is dropped, so that no two names become one', async () => {
      const long = 'x'.repeat(64)
      const foreign = ['files.read', '天气', 'now🙂', 'é', 'ü']
      const server = await serving(
        ['', ...foreign, `a${long}`, `b${long}`, 'well-known'].map((name) => listedTool(name)),
      )
      const tools = await toolsOf(server)
      const names = namesOf(tools)
      expect(names.map(nameOf)).toEqual([...foreign, undefined, undefined, 'well-known'])
      expect(names.filter((name) => !/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(name))).toEqual([])
      expect(new Set(names).size).toBe(names.length)
      await native({ script: [ask(...names.map((name): [string] => [name])), say('ok')], tools })
      const callOverMcp = server.of('tools/call').map(({ params }) => params['name'])
      expect(new Set(callOverMcp)).toEqual(new Set([...foreign, `a${long}`, `b${long}`, 'well-known']))
      expect(namesOf(await toolsOf({ server, prefix: 'p_', tools: ['files.read'] }))).toEqual(['p_files_x2e_read'])
    }),
  },
  {
    row: 146,
    says: 'our own tools can be served, their errors as errors',
    verdict: different('of an exception that no tool meant for a model, its text is for operators', async () => {
      const makeTool = (name: string, run: () => unknown) => {
        return defineTool({ name, description: 'Does it', input: v.object({}), run })
      }
      const edge = testEdge({
        tools: await carried(
          makeTool('look', () => 'Rain'),
          makeTool('draw', () => content('A map:', { type: 'image', mediaType: 'image/png', data: 'AAAA' })),
          makeTool('refuse', () => {
            throw new ToolError('No such city.')
          }),
          makeTool('break', () => {
            throw new Error('Disk 7 is full')
          }),
        ),
      })
      const callOverMcp = async (name: string) => {
        const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }
        const response = await edge.ask('/mcp', { json, headers: { accept: 'application/json, text/event-stream' } })
        const { result }: { result?: unknown } = await response.json()
        return result
      }
      expect(await callOverMcp('look')).toEqual({ content: texts('Rain') })
      expect(await callOverMcp('draw')).toEqual({
        content: [...texts('A map:'), { type: 'image', mimeType: 'image/png', data: 'AAAA' }],
      })
      expect(await callOverMcp('refuse')).toEqual({ content: texts('No such city.'), isError: true })
      expect(await callOverMcp('break')).toEqual({ content: texts('The tool "break" failed.'), isError: true })
      expect(edge.reports).toMatchObject([
        { tool: 'refuse', code: 'tool_error' },
        { tool: 'break', detail: expect.stringContaining('Disk 7 is full') },
      ])
    }),
  },
  {
    row: 147,
    says: 'a server is sent the tool context, but for what is meant for this side',
    verdict: different('it is sent what the configuration names for it, and by default nothing', async () => {
      const server = await serving([listedTool('look')])
      const context = { timeZone: 'Asia/Tokyo', plan: null, tenantId: '7' }
      const metaOf = async (configured: object) => {
        const tools = await toolsOf({ server, ...configured })
        await native({ script: [ask(['look']), say('ok')], tools, body: { context } })
        const meta = Object.entries<unknown>(server.of('tools/call').at(-1)?.params['_meta'])
        return Object.fromEntries(meta.filter(([key]) => !key.startsWith('io.modelcontextprotocol/')))
      }
      const progressToken = expect.stringMatching(/^call_/)
      expect(await metaOf({})).toEqual({ progressToken })
      expect(await metaOf({ context: ['timeZone', 'plan', 'absent'] })).toEqual({
        progressToken,
        timeZone: 'Asia/Tokyo',
        plan: null,
      })
    }),
  },
]

function namesOf(tools: readonly Tool[]): string[] {
  return tools.map(({ definition }) => definition.name)
}
