import { describe, expect, test } from 'vitest'
import type { ToolText } from '../../src/contract/tool.ts'
import type { ToolIndex } from '../../src/search/tool-index.ts'
import { definitionOf } from '../search/definitions.ts'

const TOOLS: readonly ToolText[] = [
  definitionOf({ name: 'send_invoice', description: 'Sends an invoice to a customer.' }),
  definitionOf({ name: 'pay_invoice', description: 'Pays an invoice, a bill that you owe.' }),
  definitionOf({ name: 'weather', description: 'Tells the weather, such as rain.' }),
]

/** What every ToolIndex promises. `make` makes an empty one; it must tell invoices from the weather. */
export function toolIndexSuite(name: string, make: () => ToolIndex): void {
  async function indexOf(tools: readonly ToolText[]): Promise<ToolIndex> {
    const index = make()
    await index.add(tools)
    return index
  }

  describe(`the index of ${name}`, () => {
    test('finds the tools that fit, best first, and at most as many as wanted', async () => {
      const index = await indexOf(TOOLS)
      const matches = await index.search('invoice', 5)
      expect(matches.map((tool) => tool.name).sort()).toEqual(['pay_invoice', 'send_invoice'])
      expect(matches.map(({ score }) => score)).toEqual(matches.map(({ score }) => score).sort((a, b) => b - a))
      expect(await index.search('invoice', 1)).toEqual(matches.slice(0, 1))
      expect((await index.search('weather', 5)).map((tool) => tool.name)).toEqual(['weather'])
    })

    test('finds nothing in an empty index', async () => {
      expect(await make().search('invoice', 5)).toEqual([])
    })

    test('answers the same whatever the order in which tools were added and removed', async () => {
      const direct = await indexOf(TOOLS)
      const index = await indexOf(TOOLS.slice(2))
      await index.add([definitionOf({ name: 'umbrella', description: 'Lends an umbrella for the rain.' })])
      await index.add(TOOLS.slice(1, 2))
      await index.remove(['umbrella', 'weather'])
      await index.add([...TOOLS.slice(0, 1), ...TOOLS.slice(2)])
      for (const text of ['invoice', 'weather', 'rain', 'a bill that I owe'])
        expect(await index.search(text, 5)).toEqual(await direct.search(text, 5))
    })

    test('replaces a tool by a later one of the same name', async () => {
      const index = await indexOf(TOOLS)
      await index.add([definitionOf({ name: 'send_invoice', description: 'Tells the weather, such as rain.' })])
      await index.remove(['weather', 'pay_invoice'])
      expect((await index.search('weather', 5)).map((tool) => tool.name)).toEqual(['send_invoice'])
    })

    test('ignores the removal of names that it does not have', async () => {
      const index = await indexOf(TOOLS)
      await index.remove(['none', 'constructor', '__proto__'])
      expect(await index.search('weather', 5)).toEqual(await (await indexOf(TOOLS)).search('weather', 5))
    })
  })
}
