import { expect, test } from 'vitest'
import { isObject } from '../../src/contract/json.ts'
import { defineRawTool } from 'edgecall/tool'
import { type Foreign, foreignFunctions, spoil } from '../schema/corpus/functions.ts'
import { type Random, randomOf } from '../schema/corpus/random.ts'
import { edgeOver } from './edge-over.ts'
import { testCatalogue } from './object.ts'

const COUNT = 2000
const HOST = 'https://api.example.com'

/** What a stored tool is called with, and how it is to answer. */
interface Stored {
  readonly definition: Record<string, unknown>
  readonly args: (random: Random) => Record<string, unknown>
  readonly expected: (args: Record<string, unknown>) => unknown
}

/** The function as a definition of each kind by turns: an HTTP request that writes or reads, an alias of a bound tool, a fixed answer. */
function stored(foreign: Foreign, index: number): Stored {
  const { outline } = defineRawTool(foreign, () => {})
  const { name, description, inputSchema, title } = outline
  const isWrapped =
    !isObject(foreign.right(randomOf(1))) || Object.keys(Object(inputSchema['properties'])).join() === 'input'
  const common = { name, description, inputSchema, ...(title !== undefined && { title: title.slice(0, 128) }) }
  const args = (random: Random) => {
    const value = foreign.right(random)
    return isWrapped || !isObject(value) ? { input: value } : value
  }
  if (index % 3 === 1) {
    const definition = { ...common, binding: 'TOOL_ECHO', call: 'echo' }
    return { definition, args, expected: (args) => args }
  }
  if (index % 3 === 2)
    return { definition: { ...common, static: { structured: { index } } }, args, expected: () => ({ index }) }
  const names = Object.keys(Object(inputSchema['properties'])).filter((key) => /^[A-Za-z_][\w.-]*$/.test(key))
  const body = Object.fromEntries(names.map((key) => [key, `{${key}}`]))
  if (index % 6 === 3) {
    const http = { method: 'GET', url: `${HOST}/${index}?fixed=1`, query: body, headers: { 'x-index': String(index) } }
    return {
      definition: { ...common, http },
      args,
      expected: (args) => expectedRequest(`${HOST}/${index}`, names, args),
    }
  }
  const http = { method: 'POST', url: `${HOST}/${index}`, body }
  const expected = (args: Record<string, unknown>) => ({
    url: http.url,
    body: Object.fromEntries(Object.entries(args).filter(([key]) => names.includes(key))),
  })
  return { definition: { ...common, http }, args, expected }
}

/** What a server reads of a query: each text as it was sent, whatever it holds; a list as its key once for each item. */
function expectedRequest(url: string, names: readonly string[], args: Record<string, unknown>): object {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  const pairs = names.flatMap((key) => {
    const value = Object.hasOwn(args, key) ? args[key] : null
    if (value === null) return []
    return [value].flat().map((item) => [key, text(item)])
  })
  return { url, query: [['fixed', '1'], ...pairs], body: null }
}

test(`${COUNT} definitions of all shapes are stored, found and called; broken variants are refused with paths`, async () => {
  const catalogue = testCatalogue()
  const edge = edgeOver(catalogue)
  const all = foreignFunctions(COUNT).map(stored)
  const rejections = { paths: 0, taken: 0 }
  for (const [index, { definition, args, expected }] of all.entries()) {
    const random = randomOf(index + 5)
    const path = `/tools/${String(definition['name'])}`

    const bad = spoil(random, definition)
    const answer = await edge.ask(path, { method: 'PUT', json: bad })
    if (answer.status === 422) {
      const { code, issues } = (await answer.json()) as { code: string; issues: { path: string; message: string }[] }
      expect({ bad, code, count: issues.length > 0 }).toEqual({ bad, code: 'invalid_definition', count: true })
      rejections.paths += issues.some((issue) => issue.path !== '') ? 1 : 0
      expect([(await edge.ask(path)).status, (await edge.ask(`${path}/versions`)).status]).toEqual([404, 404])
    } else {
      expect({ bad, status: answer.status }).toEqual({ bad, status: 201 })
      rejections.taken += 1
    }

    const put = await edge.ask(path, { method: 'PUT', json: definition })
    expect({ definition, put: await put.json() }).toMatchObject({
      put: { name: definition['name'], hash: expect.any(String) },
    })
    const callArgs = args(random)
    const outcome = await edge.ask(`${path}/call`, { json: { arguments: callArgs } })
    expect({ definition, called: callArgs, outcome: await outcome.json() }).toMatchObject({
      outcome: { ok: true, structured: expected(callArgs) },
    })
  }
  expect(rejections.paths).toBeGreaterThan(COUNT / 4)

  const listing = await edge.ask('/tools?source=kv&limit=1000')
  expect(listing.headers.get('x-total-count')).toBe(String(COUNT))
})
