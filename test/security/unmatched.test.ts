import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { tool } from '../fixtures/play.ts'
import { controlledEdge } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read'
const ADMIN = 'ops: chat tools:read tools:admin'

let lines: unknown[] = []
beforeEach(() => {
  lines = []
  vi.spyOn(console, 'error').mockImplementation((line: unknown) => void lines.push(JSON.parse(String(line))))
})
afterEach(() => void vi.restoreAllMocks())

const remove = tool('files_x2e_delete', undefined, { tags: ['danger'], ownName: 'delete' })
const unmatched = (variable: string, pattern: string) => ({ event: 'tools.unmatched', variable, pattern })

async function logOf(
  vars: Record<string, unknown>,
  before?: (edge: ReturnType<typeof controlledEdge>) => Promise<void>,
) {
  const edge = controlledEdge({ workers: { TOOL_FILES: [remove] }, keys: [KEY, ADMIN], vars })
  await before?.(edge)
  for (let count = 0; count < 3; count++) await edge.as(KEY)('/tools')
  return lines
}

describe('a pattern that matches no tool', () => {
  test('is reported once, in whatever variable it is', async () => {
    const policy = {
      'files.delet': { approval: 'always' },
      'files.*': {},
      files_x2e_delete: {},
      delete: {},
      '#danger': {},
      '#dangerous': {},
      '@TOOL_FILES': {},
      '@TOOL_FILE': {},
      '@tenant:acme/*': {},
      '@script:acme--*': {},
      '*': {},
    }
    const vars = {
      TOOL_POLICY: policy,
      MAX_CALLS_PER_TOOL: { '*': 9, 'files.delete': 1, 'file.delete': 1 },
      DEFAULT_TOOLS: 'files.delete,!remove',
      HOLD_CHANGED: 'TOOL_FILES,TOOL_MCP',
      CHECK_OUTPUTS: 'TOOL_*,TOOL_X',
    }
    expect(await logOf(vars)).toEqual([
      unmatched('TOOL_POLICY', 'files.delet'),
      unmatched('TOOL_POLICY', '#dangerous'),
      unmatched('TOOL_POLICY', '@TOOL_FILE'),
      unmatched('MAX_CALLS_PER_TOOL', 'file.delete'),
      unmatched('DEFAULT_TOOLS', 'remove'),
      unmatched('HOLD_CHANGED', 'TOOL_MCP'),
      unmatched('CHECK_OUTPUTS', 'TOOL_X'),
    ])
  })

  test('is not reported if a stored tool has the name', async () => {
    const definition = { description: 'Pays.', inputSchema: { type: 'object' }, static: { text: 'paid' } }
    const policies = { TOOL_POLICY: { 'pay.out': {}, 'pay.in': {} } }
    const store = async ({ as }: ReturnType<typeof controlledEdge>) =>
      void (await as(ADMIN)('/tools/pay.out', { method: 'PUT', json: definition }))
    expect(await logOf(policies, store)).toEqual([unmatched('TOOL_POLICY', 'pay.in')])
  })

  test('is not reported while a Worker, which may have the tool, cannot be described', async () => {
    const broken = { describe: () => Promise.reject(new Error('down')), call: () => Promise.reject(new Error('down')) }
    const log = await logOf({ TOOL_POLICY: { pay: {} }, TOOL_BANK: broken })
    expect(log).not.toContainEqual(unmatched('TOOL_POLICY', 'pay'))
  })
})
