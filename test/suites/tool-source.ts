import { describe, expect, test } from 'vitest'
import type { Tool, ToolOutcome, ToolSource } from '../../src/contract/tool.ts'
import { call, CONTROL, toolRequest } from '../host/source/calls.ts'

/** A source set up for the suite. */
export interface StagedSource {
  readonly source: ToolSource
  /** The names of the tools of the default set; at least one. */
  readonly offered: readonly string[]
  /** The names of the other tools; none for a source that offers all that it has. */
  readonly others: readonly string[]
  /** A call of the first offered tool, and what comes of it. */
  readonly example: { readonly arguments: Record<string, unknown>; readonly outcome: ToolOutcome }
}

function namesOf(tools: readonly Tool[]): string[] {
  return tools.map(({ definition }) => definition.name).sort()
}

/** What every ToolSource promises. */
export function toolSourceSuite(name: string, stage: () => Promise<StagedSource>): void {
  describe(`the tool source of ${name}`, () => {
    test('lists all its tools, and offers those of the default set', async () => {
      const { source, offered, others } = await stage()
      const { tools, unavailable } = await source.list()
      expect(unavailable).toEqual([])
      expect(namesOf(tools)).toEqual([...offered, ...others].sort())
      expect(namesOf(tools.filter((tool) => tool.offered))).toEqual([...offered].sort())
      expect(namesOf(await source.offered())).toEqual([...offered].sort())
      for (const { definition, place } of tools) {
        expect(definition.inputSchema['type']).toBe('object')
        expect(definition.hash).not.toBe('')
        expect(place).not.toBe('')
      }
    })

    test('finds the named tools that it knows, once each, offered or not', async () => {
      const { source, offered, others } = await stage()
      const all = [...offered, ...others]
      expect(namesOf(await source.find(['none', ...all, ...all, 'constructor', '__proto__']))).toEqual(all.sort())
      expect(await source.find([])).toEqual([])
    })

    test('gives the same definitions however it is asked', async () => {
      const { source, offered } = await stage()
      const { tools } = await source.list()
      const definitions = new Map(tools.map(({ definition }) => [definition.name, definition]))
      for (const { definition } of [...(await source.offered()), ...(await source.find(offered))])
        expect(definition).toEqual(definitions.get(definition.name))
    })

    test('lists at least the page that is asked for, and counts and describes all its tools', async () => {
      const { source, offered, others } = await stage()
      const all = [...offered, ...others].sort()
      const page = await source.list({ after: '', limit: 1 })
      expect(namesOf(page.tools)).toContain(all[0])
      expect((await source.size?.()) ?? all.length).toBe(all.length)
      const texts = (await source.texts?.()) ?? (await source.list()).tools.map(({ definition }) => definition)
      expect(texts.map((text) => text.name).sort()).toEqual(all)
    })

    test('calls a tool, and answers a call of another definition with a failure', async () => {
      const { source, offered, example } = await stage()
      const [tool] = await source.find(offered.slice(0, 1))
      expect(await call(tool, example.arguments)).toMatchObject(example.outcome)
      const old = toolRequest(offered[0] ?? '', example.arguments, { hash: 'old' })
      expect(await tool?.call(old, CONTROL)).toMatchObject({
        ok: false,
        error: { code: expect.stringMatching(/^(?:schema_mismatch|tool_changed)$/), message: expect.any(String) },
      })
    })

    test('has `status` and `undo` just where its definitions say so', async () => {
      const { source } = await stage()
      for (const tool of (await source.list()).tools) {
        const { reconcile = false, undo = false } = tool.definition
        expect([tool.status !== undefined, tool.undo !== undefined]).toEqual([reconcile, undo])
      }
    })
  })
}
