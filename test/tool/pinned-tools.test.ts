import { expect, test } from 'vitest'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { pinTools } from '../../src/tool/pinned-tools.ts'
import { call, CONTROL, text, toolRequest } from '../host/source/calls.ts'

function definition(name: string, hash: string): ToolDefinition {
  return { name, description: name, inputSchema: { type: 'object' }, version: '1', hash, annotations: {} }
}

function tool(name: string, hash: string, parts: Partial<Tool> = {}): Tool {
  const offeredDefinition = definition(name, hash)
  return {
    definition: offeredDefinition,
    origin: 'kv',
    place: 'P',
    offered: true,
    call: async () => text(hash),
    ...parts,
  }
}

test('a tool that was deployed again with the same definition is called, and has its new version', () => {
  const before = definition('a', 'h')
  const current = { ...tool('a', 'h'), definition: { ...before, version: '2' } }
  expect(pinTools([before], [current]).get('a')?.definition).toEqual({ ...before, version: '2' })
})

test('an unchanged tool is called with the definition that the model saw', async () => {
  const definitionBefore = { ...definition('a', 'h'), description: 'as it was told' }
  const pinnedTool = pinTools([definitionBefore], [tool('a', 'h')]).get('a')
  expect(pinnedTool?.definition).toBe(definitionBefore)
  expect(await call(pinnedTool)).toEqual(text('h'))
})

test('a changed or removed tool is not called', async () => {
  const pinnedTool = pinTools([definition('a', 'old'), definition('b', 'h')], [tool('a', 'new')])
  expect([await call(pinnedTool.get('a')), await call(pinnedTool.get('b'))]).toMatchObject([
    { error: { code: 'tool_changed' } },
    { error: { code: 'tool_unavailable' } },
  ])
  const missingTool = pinnedTool.get('b')
  expect([missingTool?.place, 'status' in Object(missingTool), 'undo' in Object(missingTool)]).toEqual([
    'none',
    false,
    false,
  ])
})

test('the status and undo of an earlier call use the current tool, changed or not', async () => {
  const parts: Partial<Tool> = { status: async () => 'done', undo: async () => text('undone') }
  const tools = pinTools(
    [definition('a', 'old'), definition('b', 'h')],
    [tool('a', 'new', parts), tool('b', 'h', parts)],
  )
  for (const name of ['a', 'b']) {
    const pinnedTool = tools.get(name)
    expect(await pinnedTool?.status?.(toolRequest(name))).toBe('done')
    expect(await pinnedTool?.undo?.(toolRequest(name), { ok: true, content: [] })).toEqual(text('undone'))
  }
  expect(await tools.get('a')?.call(toolRequest('a'), CONTROL)).toMatchObject({ error: { code: 'tool_changed' } })
})
