import { expect, test } from 'vitest'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { vmLoader } from '../fixtures/vm-loader.ts'
import { type ControlledEdgeOptions, controlledEdge } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read'

/** A run whose model calls the tool `payroll`, and what has reached that. */
async function run(terms: Partial<ToolDefinition>, options: Omit<ControlledEdgeOptions, 'workers' | 'keys'>) {
  let reached = 0
  const payroll = tool('payroll', () => `paid ${(reached += 1)}`, { description: 'Pays the wages.', ...terms })
  const edge = controlledEdge({ workers: { TOOL_BANK: [payroll, tool('other')] }, keys: [KEY], ...options })
  const { body } = await edge.as(KEY)('/runs', { json: { input: 'Go' } })
  const last = body.calls.at(-1)
  const { code, message } = last.error ?? {}
  return { reached, result: code === 'program_failed' ? message : (code ?? last.content[0].text) }
}

/** Ways by which a tool joins a run that did not offer it. */
const WAYS: Readonly<Record<string, Omit<ControlledEdgeOptions, 'workers' | 'keys'>>> = {
  'is on offer': { script: [ask(['payroll']), say('Done.')], vars: { TOOL_SEARCH: 'off' } },
  'a search has found': {
    script: [ask(['tool_search', { query: 'wages' }]), ask(['payroll']), say('Done.')],
    vars: { TOOL_SEARCH: 'on' },
  },
  'a hook has chosen': {
    script: [ask(['payroll']), say('Done.')],
    vars: { DEFAULT_TOOLS: 'other', TOOL_SEARCH: 'off' },
    change: ({ loop, ...setup }) => ({
      ...setup,
      loop: { ...loop, hooks: [{ name: 'payroll', activate: (names) => [...names, 'payroll'] }] },
    }),
  },
}

test.each(Object.keys(WAYS))('a tool for programs alone that %s is not called by a model', async (name) => {
  const way = WAYS[name] ?? {}
  expect(await run({}, way)).toEqual({ reached: 1, result: 'paid 1' })
  expect(await run({ callers: ['program'] }, way)).toEqual({ reached: 0, result: 'unknown_tool' })
})

test('it is called by a program, also after a search', async () => {
  const code = 'return tools.payroll()'
  const program = ask(['run_code', { code }])
  const vars = { LOADER: vmLoader(), CODE_MODE: 'also' }
  const afterSearch = {
    script: [ask(['tool_search', { query: 'wages' }]), program, say('Done.')],
    vars: { ...vars, TOOL_SEARCH: 'on' },
  }
  const atOnce = { script: [program, say('Done.')], vars: { ...vars, TOOL_SEARCH: 'off' } }
  for (const way of [afterSearch, atOnce])
    expect(await run({ callers: ['program'] }, way)).toEqual({ reached: 1, result: 'paid 1' })
})
