import * as v from 'valibot'
import { expect, test } from 'vitest'
import { defineTool, toolDefinitions } from 'edgecall/tool'
import { inlineSource } from '../../../src/host/source/inline.ts'

const tools = ['zebra', 'ant', 'bee'].map((name) =>
  defineTool({
    name,
    description: `Calls the ${name}.`,
    input: v.object({}),
    run: () => {
      throw new Error('ran')
    },
  }),
)

test('definitions of one tool, of several and of a source are returned in order, and nothing runs', async () => {
  const definitions = await Promise.all(tools.map((tool) => tool.describe()))
  const [zebra, ...others] = tools
  expect(await toolDefinitions(tools)).toEqual(definitions)
  expect(await toolDefinitions(inlineSource(tools, { env: {} }))).toEqual(definitions)
  expect(zebra && (await toolDefinitions(zebra))).toEqual(definitions.slice(0, 1))
  expect(await toolDefinitions(others)).toEqual(definitions.slice(1))
})
