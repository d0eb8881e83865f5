import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, onTestFinished, test } from 'vitest'
import type { ListPage, ToolSource } from '../../src/contract/tool.ts'
import { chain } from '../../src/host/source/chain.ts'
import { tool } from '../fixtures/play.ts'
import { servedEdge } from './served-edge.ts'

/** The official client, connected to an edge with these tools. */
async function connect(source: ToolSource): Promise<Client> {
  const edge = await servedEdge({ script: [], setup: { tools: () => source, questionSigner: undefined } })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${edge.url}/mcp`)))
  onTestFinished(() => client.close())
  return client
}

/** The names that the client lists, which walks the pages by itself. */
async function namesOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name)
}

const nameAt = (index: number) => `tool${String(index).padStart(4, '0')}`

/**
 * Many tools, of which it loads those that are asked for. Every tenth is broken, and every tenth after takes a person’s
 * approval.
 */
function stored(count: number) {
  const loaded: number[] = []
  const all = Array.from({ length: count }, (_, index) => index)
  const read = (indexes: readonly number[]) => {
    loaded.push(indexes.length)
    return indexes.map((index) => tool(nameAt(index), undefined, { approval: index % 10 === 1 ? 'always' : 'never' }))
  }
  const list = async ({ after, limit }: ListPage = { after: '', limit: count }) => {
    const page = all.filter((index) => nameAt(index) > after).slice(0, limit)
    const broken = page.filter((index) => index % 10 === 0)
    return {
      tools: read(page.filter((index) => !broken.includes(index))),
      unavailable: broken.map((index) => {
        return { origin: 'kv' as const, place: `tool:${nameAt(index)}`, name: nameAt(index), reason: 'Broken.' }
      }),
      total: count,
    }
  }
  const source: ToolSource = { list, offered: async () => [], find: async () => [] }
  return { source, loaded, callable: all.filter((index) => index % 10 > 1).map(nameAt) }
}

test('tools/list returns thousands of tools by pages, each tool once, and reads no more than the page', async () => {
  const { source, loaded, callable } = stored(2500)
  expect(await namesOf(await connect(source))).toEqual(callable)
  expect(loaded).toEqual([900, 900, 450])
})

test('tools/list omits no tool when a page has names that two sources define', async () => {
  const { source, callable } = stored(2500)
  const names = [nameAt(42), nameAt(999)]
  const others = names.map((name) => tool(name, undefined, { hash: 'other' }))
  const boundSource: ToolSource = {
    list: async () => ({
      tools: [...others, tool('zoo')],
      unavailable: [{ origin: 'service', place: 'a binding', reason: 'Gone.' }],
    }),
    offered: async () => [],
    find: async () => [],
  }
  const expected = callable.filter((name) => !names.includes(name))
  expect(await namesOf(await connect(chain([boundSource, source])))).toEqual([...expected, 'zoo'])
})

test('tools/list refuses an invalid cursor', async () => {
  const client = await connect(stored(1).source)
  await expect(client.listTools({ cursor: nameAt(0) })).rejects.toMatchObject({ code: -32602 })
})
