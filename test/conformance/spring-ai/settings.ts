import * as v from 'valibot'
import { expect } from 'vitest'
import { ConfigError, readConfig } from '../../../src/contract/config.ts'
import { fullSetup } from '../../fixtures/everything.ts'
import { defineTool, ToolError } from '../../../src/tool.ts'
import { TOOL_SEARCH } from '../../../src/contract/tool.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { carried, edgeWith, namesIn, native, nobody, resultsIn } from '../scene.ts'

const NONE = { getByName: nobody }

/** Rows 135 to 138: the variables of the edge. */
export const settings: readonly Row[] = [
  {
    row: 135,
    says: 'a tool that is known and not on offer is not run, unless that is asked for',
    verdict: different('it is asked for by name, in the request', async () => {
      const hidden = { ...tool('hidden', () => 'found'), offered: false }
      const script = [ask(['hidden']), say('done')]
      const closed = edgeWith(script, [hidden], {})
      expect((await closed.run()).calls).toMatchObject([{ tool: 'hidden', ok: false }])
      expect(resultsIn(closed.requests[1]?.messages)).toEqual(['There is no tool "hidden": no tools are on offer.'])
      const open = edgeWith(script, [hidden], {})
      expect((await open.run({ tools: { add: ['hidden'] } })).calls).toMatchObject([{ tool: 'hidden', ok: true }])
    }),
  },
  {
    row: 136,
    says: 'limits are variables: of a tool, of all, of some by name, and what comes of them',
    verdict: same(() => {
      const limitsOf = (vars: Record<string, unknown>) => {
        const { limits, onLimit } = readConfig({ COMPAT: 'spring-ai', ...vars })
        return { perTool: limits.callsPerTool, calls: limits.calls, tools: limits.tools, onLimit }
      }
      const theirs = { perTool: 40, calls: 150, tools: undefined, onLimit: 'fail' }
      expect(limitsOf({})).toEqual(theirs)
      expect(limitsOf({ MAX_CALLS_PER_TOOL: '5' })).toEqual({ ...theirs, perTool: 5 })
      expect(limitsOf({ MAX_CALLS: 7 })).toEqual({ ...theirs, calls: 7 })
      expect(limitsOf({ MAX_CALLS_PER_TOOL: '{ "pay": 1, "*": 9 }' })).toEqual({
        ...theirs,
        perTool: 9,
        tools: { pay: 1, '*': 9 },
      })
      expect(limitsOf({ ON_LIMIT: 'model' })).toEqual({ ...theirs, onLimit: 'model' })
      expect(limitsOf({ MAX_CALLS: '-1', MAX_CALLS_PER_TOOL: '{ "pay": -1 }' })).toEqual({
        ...theirs,
        calls: 1_000_000,
        tools: { pay: 1_000_000 },
      })
      for (const vars of [{ MAX_CALLS: '-2' }, { MAX_CALLS: '0' }, { RUN_TIMEOUT_MS: '-1' }]) {
        expect(() => readConfig(vars)).toThrow(ConfigError)
      }
      const { limits } = readConfig({ COMPAT: 'spring-ai' })
      expect([limits.steps, limits.concurrentCalls]).toEqual([1_000_000, 1])
      expect(readConfig({ COMPAT: 'spring-ai' })).toMatchObject({
        toolSearch: 'off',
        window: { messages: 20, show: 'answers' },
      })
      expect(readConfig({ COMPAT: 'spring-ai', TOOL_SEARCH: 'auto', MEMORY_SHOW: 'all' })).toMatchObject({
        toolSearch: 'auto',
        window: { messages: 20, show: 'all' },
      })
    }),
  },
  {
    row: 137,
    says: 'a variable says whether errors of tools go to the model or fail the run',
    verdict: same(async () => {
      const tools = await carried(
        defineTool({
          name: 'broken',
          description: 'Breaks',
          input: v.object({}),
          run: () => {
            throw new ToolError('It broke.', { code: 'broken' })
          },
        }),
      )
      const scene = { script: [ask(['broken']), say('Sorry')], tools }
      const response = await native(scene)
      expect([response.json.answer, resultsIn(response.requests[1]?.messages)]).toEqual(['Sorry', ['It broke.']])
      const failed = await native({ ...scene, vars: { TOOL_ERRORS: 'fail' } })
      expect(failed.json).toMatchObject({ status: 502, code: 'broken', detail: 'It broke.' })
    }),
  },
  {
    row: 138,
    says: 'tool search has variables: whether there is one, and of which kind; an unknown kind is warned of',
    verdict: different(
      'one says whether; the kind is named in `createEdge`. An unknown value stops the edge',
      async () => {
        const offeredNames = async (count: number, vars: Record<string, unknown>) => {
          const tools = Array.from({ length: count }, (_, index) => tool(`tool${index}`))
          const { loop } = fullSetup({ CONVERSATIONS: NONE, DIRECTORIES: NONE, ...vars })
          const { run, requests } = edgeWith([say('ok')], tools, { ...(loop && { loop }) })
          await run()
          return namesIn(requests[0])
        }
        const all = ['tool0', 'tool1', 'tool2']
        expect(await offeredNames(3, {})).toEqual(all)
        expect(await offeredNames(3, { TOOL_SEARCH: 'on' })).toEqual([TOOL_SEARCH])
        expect(await offeredNames(41, {})).toEqual([TOOL_SEARCH])
        expect(await offeredNames(41, { TOOL_SEARCH: 'off' })).toHaveLength(41)
        expect(() => readConfig({ TOOL_SEARCH: 'lucene' })).toThrow(ConfigError)
      },
    ),
  },
]
