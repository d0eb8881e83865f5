import * as v from 'valibot'
import { expect } from 'vitest'
import { defineRawTool, defineTool, toolsOf } from '../../../src/tool.ts'
import type { ToolSource } from '../../../src/contract/tool.ts'
import { chain } from '../../../src/host/source/chain.ts'
import { inlineSource } from '../../../src/host/source/inline.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { carried, chat, edgeWith, namesIn, native, resultsIn } from '../scene.ts'

const one = tool('one')
const two = tool('two')
const hi = [say('hi')]
const input = v.object({})

/** A tool that answers with the tool context of its call. */
const context = defineTool({ name: 'context', description: 'Context', input, run: (_, { values }) => ({ ...values }) })

/** What a tool sees of the context of the edge and of the request. */
async function contextOf(ofEdge: object, ofRequest: unknown): Promise<unknown> {
  const { status, json, requests } = await chat({
    script: [ask(['context']), say('done')],
    tools: await carried(context),
    vars: { TOOL_CONTEXT: JSON.stringify(ofEdge) },
    body: { edgecall: ofRequest === undefined ? {} : { context: ofRequest } },
  })
  return status === 200 ? JSON.parse(resultsIn(requests[1]?.messages)[0] ?? '') : json.error.message
}

/** What the edge says of a body that it refuses. */
async function refusal(body: Record<string, unknown>): Promise<string> {
  const { status, json } = await native({ body })
  return `${status} ${json.detail}`
}

const toolNamed = (name: string) => defineTool({ name, description: `Test tool ${name}`, input, run: () => name })

/** Rows 32 to 42: tools and tool context, of the edge and of the request. */
export const options: readonly Row[] = [
  {
    row: 32,
    says: 'tools of a request stand in the place of the default ones; no list leaves those',
    verdict: different('an empty list is none', async () => {
      const offered = async (edgecall: object) =>
        namesIn((await chat({ script: hi, tools: [one, two], body: { edgecall } })).requests[0])
      expect(await offered({})).toEqual(['one', 'two'])
      expect(await offered({ tools: ['two'] })).toEqual(['two'])
      expect(await offered({ tools: [] })).toEqual([])
      expect(await offered({ tools: { remove: ['one'] } })).toEqual(['two'])
    }),
  },
  {
    row: 33,
    says: 'a tool context of a request goes over the default one, key by key',
    verdict: same(async () => {
      expect(await contextOf({ user: 'Ada', zone: 'UTC' }, { user: 'Bob' })).toEqual({ user: 'Bob', zone: 'UTC' })
      expect(await contextOf({ user: 'Ada' }, {})).toEqual({ user: 'Ada' })
      expect(await contextOf({ user: 'Ada' }, undefined)).toEqual({ user: 'Ada' })
      expect(await contextOf({}, { user: 'Bob' })).toEqual({ user: 'Bob' })
    }),
  },
  {
    row: 34,
    says: 'two tools of one name are refused',
    verdict: same(async () => {
      const twin = { name: 'twin' }
      expect(await refusal({ clientTools: [twin, twin] })).toBe('400 clientTools[1].name: is used twice.')
      const clash = await native({ tools: [one], body: { clientTools: [{ name: 'one' }] } })
      expect(clash.json).toMatchObject({
        code: 'tool_name_conflict',
        detail: 'The tool "one" exists at the edge; rename the client tool of this name.',
      })
      expect(() => inlineSource([toolNamed('twin'), toolNamed('twin')], { env: {} })).toThrow(
        new TypeError('Two tools here are named "twin"'),
      )
    }),
  },
  {
    row: 35,
    says: 'what was given cannot be changed afterwards',
    verdict: same(async () => {
      const tools = [toolNamed('one')]
      const source = inlineSource(tools, { env: {} })
      tools.push(toolNamed('two'))
      expect((await source.list()).tools.map(({ definition }) => definition.name)).toEqual(['one'])
    }),
  },
  {
    row: 36,
    says: 'tools of a request stand in the place of those that belong to its model',
    verdict: same(async () => {
      const edge = edgeWith([...hi, ...hi], [one, two], { toolsOf: () => ['one'] })
      await edge.run()
      await edge.run({ tools: ['two'] })
      expect(edge.requests.map(namesIn)).toEqual([['one'], ['two']])
    }),
  },
  {
    row: 37,
    says: 'tool contexts from several places are seen as one',
    verdict: same(async () => {
      expect(await contextOf({ plan: { name: 'free' } }, { user: 'Ada', cart: [1] })).toEqual({
        plan: { name: 'free' },
        user: 'Ada',
        cart: [1],
      })
    }),
  },
  {
    row: 38,
    says: 'options that know nothing of tools leave tools and context as they are',
    verdict: same(async () => {
      const { requests } = await chat({
        script: [ask(['context']), say('done')],
        tools: await carried(context),
        vars: { TOOL_CONTEXT: '{ "user": "Ada" }' },
        body: { temperature: 0.5 },
      })
      expect(requests.map((request) => [request.sampling, namesIn(request)])).toEqual([
        [{ temperature: 0.5 }, ['context']],
        [{ temperature: 0.5 }, ['context']],
      ])
      expect(resultsIn(requests[1]?.messages)).toEqual(['{"user":"Ada"}'])
    }),
  },
  {
    row: 39,
    says: 'tools of all kinds go together: defined, methods of objects, loaded ones, whole sources',
    verdict: same(async () => {
      const methods = toolsOf({ find: () => 'found' }, { find: { description: 'Finds', input } })
      const loaded = defineRawTool({ name: 'loaded' }, () => 'loaded')
      const source = chain([
        inlineSource([toolNamed('one'), ...methods], { env: {} }),
        inlineSource([loaded], { env: {} }),
      ])
      const { tools, unavailable } = await source.list()
      expect(tools.map(({ definition }) => definition.name)).toEqual(['one', 'find', 'loaded'])
      expect(unavailable).toEqual([])
    }),
  },
  {
    row: 40,
    says: 'a source of tools is asked by requests, not when it is named',
    verdict: same(async () => {
      const receivedRequests: string[] = []
      const counting = (how: string) => async () => {
        receivedRequests.push(how)
        return [one]
      }
      const source: ToolSource = {
        offered: counting('offered'),
        find: counting('find'),
        list: async () => ({ tools: await counting('list')(), unavailable: [] }),
      }
      const edge = edgeWith([...hi, ...hi], [], { tools: () => chain([source]) })
      expect(receivedRequests).toEqual([])
      await edge.run()
      await edge.run()
      expect(receivedRequests).toEqual(['offered', 'find', 'offered', 'find'])
    }),
  },
  {
    row: 41,
    says: 'a tool context is an object with keys',
    verdict: different('null is a value like any other in JSON, and so is an empty key', async () => {
      expect(await contextOf({}, null)).toBe('edgecall.context: must be an object.')
      expect(await contextOf({}, [])).toBe('edgecall.context: must be an object.')
      expect(await contextOf({}, { none: null, '': 1 })).toEqual({ none: null, '': 1 })
    }),
  },
  {
    row: 42,
    says: 'a list of tools has no gaps',
    verdict: same(async () => {
      expect(await refusal({ tools: null })).toMatch(/^400 tools: /)
      expect(await refusal({ tools: [null] })).toBe('400 tools[0]: expected string, received null.')
      expect(await refusal({ clientTools: [null] })).toMatch(/^400 clientTools\[0\]: /)
    }),
  },
]
