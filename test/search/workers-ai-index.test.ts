import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ConfigError } from '../../src/contract/config.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Env } from 'edgecall'
import { everything } from 'edgecall/everything'
import { makeSetup } from 'edgecall'
import { toolSearch } from 'edgecall'
import { workersAiIndex } from 'edgecall'
import { testCatalogue } from '../catalogue/object.ts'
import { settle } from '../fixtures/settle.ts'
import { definitionOf } from './definitions.ts'

/** Stands in for a model that knows many languages: weather, money, and all else. */
function meaningOf(text: string): number[] {
  const has = (pattern: RegExp) => (pattern.test(text) ? 1 : 0)
  return [has(/weather|forecast|天气|下雨/i), has(/invoice|currency|汇率|发票/i), 0.1]
}

/** The binding `AI` with this model, and the texts that it has embedded. */
function embeddingModel() {
  const calls: (readonly string[])[] = []
  const run = async (_model: string, { text }: { readonly text: readonly string[] }) => {
    calls.push(text)
    return { shape: [text.length, 3], data: text.map(meaningOf) }
  }
  return { calls, AI: { run } }
}

const WEATHER = definitionOf({ name: 'get_forecast', description: 'Tells the weather of a city.' })
const INVOICE = definitionOf({ name: 'send_invoice', description: 'Sends an invoice.' })
const CALLER = { tenant: 'acme', scopes: [] }

/** The search of an edge with these bindings; each call is another isolate. */
function isolate(bindings: object, definitions: readonly ToolDefinition[] = [WEATHER, INVOICE]) {
  const nobody = () => {
    throw new Error('nobody is there')
  }
  const describeTools = async () => ({ contract: 1, tools: definitions })
  const env = {
    CONVERSATIONS: { getByName: nobody },
    DIRECTORIES: { getByName: nobody },
    TOOL_OFFICE: { describe: describeTools, call: nobody },
    ...bindings,
  } as unknown as Env
  const use = [...(everything.use ?? []), toolSearch({ index: workersAiIndex() })]
  const { finder } = makeSetup(env, { ...everything, use })
  return (text: string) => finder?.(CALLER).search(text, 1)
}

describe('a search with Workers AI', () => {
  test('in Chinese finds a tool that is described in English', async () => {
    const search = isolate({ AI: embeddingModel().AI })
    expect(await search('明天会下雨吗')).toEqual(['get_forecast'])
    expect(await search('给我开一张发票')).toEqual(['send_invoice'])
    expect(await search('send an invoice')).toEqual(['send_invoice'])
  })

  test('embeds each version of a tool once for all isolates, and a changed one again', async () => {
    const { calls, AI } = embeddingModel()
    const { object, kv } = testCatalogue()
    const bindings = { AI, CATALOG: { getByName: () => object }, TOOLS: kv, HOLD_CHANGED: 'off' }
    for (let life = 0; life < 2; life++) expect(await isolate(bindings)('下雨')).toEqual(['get_forecast'])
    const texts = ['get forecast (office): Tells the weather of a city.', 'send invoice (office): Sends an invoice.']
    expect(calls).toEqual([texts, ['下雨'], ['下雨']])
    const changed = definitionOf({ name: 'send_invoice', description: 'Sends the currency of a day.' })
    expect(await isolate(bindings, [WEATHER, changed])('汇率')).toEqual(['send_invoice'])
    expect(calls.slice(3)).toEqual([['send invoice (office): Sends the currency of a day.'], ['汇率']])
  })

  test('falls back to words while the model, or the object that keeps vectors, does not answer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const hang = () => new Promise(() => {})
    const { AI } = embeddingModel()
    const { kv } = testCatalogue()
    const CATALOG = { getByName: () => ({ embeddings: hang, storeEmbeddings: hang }) }
    for (const bindings of [{ AI: { run: hang } }, { AI, CATALOG, TOOLS: kv, HOLD_CHANGED: 'off' }]) {
      const answer = isolate(bindings)('send an invoice')
      await settle()
      await vi.advanceTimersByTimeAsync(10_000)
      expect(await answer).toEqual(['send_invoice'])
    }
  })

  test('falls back to words while the model fails, and needs its binding', async () => {
    const search = isolate({ AI: { run: () => Promise.reject(new Error('down')) } })
    expect(await search('send an invoice')).toEqual(['send_invoice'])
    expect(() => isolate({})).toThrow(ConfigError)
  })
})
