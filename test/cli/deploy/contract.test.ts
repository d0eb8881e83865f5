import { expect, test } from 'vitest'
import { breaksOf, contractProblems } from '../../../src/cli/deploy/deploy.ts'
import type { DeployedWorker } from '../../../src/cli/deploy/record.ts'
import type { JsonSchema } from '../../../src/contract/json.ts'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'

const ZONE = { type: 'object', properties: { zone: { type: 'string' } } }

function tool(name: string, inputSchema: JsonSchema = ZONE): ToolDefinition {
  return { name, description: `Does ${name}.`, inputSchema, version: '1', hash: name, annotations: {} }
}

function live(...tools: readonly ToolDefinition[]): DeployedWorker {
  return { name: 'acme-clock', role: 'tool', version: 'v1', hash: 'h', size: 1, gzip: 1, tools }
}

function reasons(before: readonly ToolDefinition[], after: readonly ToolDefinition[], worker = 'acme-clock') {
  return breaksOf([live(...before)], new Map([[worker, after]])).map(({ tool: name, reason }) => [name, reason])
}

test('a contract breaks when a parameter becomes required, and does not when an optional one is added', () => {
  const withDay = { ...ZONE, properties: { ...ZONE.properties, day: { type: 'string' } } }
  expect(reasons([tool('now')], [tool('now', withDay)])).toEqual([])
  expect(reasons([tool('now')], [tool('now', { ...withDay, required: ['day'] })])).toEqual([
    ['now', 'inputSchema.properties.day is required now'],
  ])
})

test('a removed tool is distinguished from a renamed one', () => {
  expect(reasons([tool('now')], [])).toEqual([['now', 'it is gone']])
  expect(reasons([tool('now')], [tool('currentTime')])).toEqual([['now', 'it is named currentTime now']])
})

test('a tool that moved to another Worker is not reported as removed', () => {
  const next = new Map([
    ['acme-clock', []],
    ['acme-time', [tool('now')]],
  ])
  expect(breaksOf([live(tool('now'))], next)).toEqual([])
})

test('a Worker that is not deployed this time is not compared', () => {
  expect(reasons([tool('now')], [tool('other')], 'acme-other')).toEqual([])
})

test('a break that is allowed by name is accepted; the others name the file and the option', () => {
  const breaks = breaksOf([live(tool('now'), tool('then'))], new Map([['acme-clock', []]]))
  const configOf = () => 'tools/clock/wrangler.toml'
  expect(contractProblems(breaks, { allowed: ['now'], configOf })).toEqual([
    {
      file: 'tools/clock/wrangler.toml',
      message: 'The tool then would break its callers: it is gone.',
      remedy: 'If that is meant, deploy with --allow-break then.',
    },
  ])
})
