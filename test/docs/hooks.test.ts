import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { parse as parseToml } from 'smol-toml'
import * as v from 'valibot'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { type ScriptedServer, startScriptedModel } from 'edgecall/test'
import { defineTool, serveTools } from 'edgecall/tool'
import { memoryDirectories } from '../fixtures/directories.ts'
import { pages, ROOT } from './pages.ts'

const FOLDER = `${ROOT}test/docs/.hooks-${process.pid}`
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

const page = pages().find(({ path }) => path === 'docs/hooks.md')
const blockWith = (text: string) => page?.blocks.find((block) => block.text.includes(text))?.text ?? ''

/** The amounts with which `bookRoom` was called. */
const bookings: number[] = []
const bookRoom = defineTool({
  name: 'bookRoom',
  description: 'Books a room. Use it when someone wants a booking. Returns the number of the booking.',
  input: v.object({ amount: v.number() }),
  run: ({ amount }) => `Booking ${bookings.push(amount)}`,
})
const findRoom = defineTool({
  name: 'findRoom',
  description: 'Finds a free room. Use it before a booking. Returns its number.',
  input: v.object({}),
  run: () => 'Room 7',
})
const Worker = serveTools(bookRoom, findRoom) as unknown as new (ctx: object, env: object) => object

interface Edge {
  fetch(request: Request, env: object, context: { waitUntil(work: Promise<unknown>): void }): Promise<Response>
}

let model: ScriptedServer
beforeEach(async () => {
  bookings.length = 0
  model = await startScriptedModel(({ messages }) => {
    const calls = [20, 200].map((amount) => ({ tool: 'bookRoom', arguments: { amount } }))
    return messages.at(-1)?.['content'] === 'Two bookings, please' ? { calls } : 'Done.'
  })
})
afterEach(() => model.close())

/** Sends a run to the edge of the page, with the variables of the page. */
async function run(input: string): Promise<Record<string, unknown>> {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(`${FOLDER}/edge.ts`, `${blockWith("name: 'guard'")}\nexport default edge\n`)
  const { default: edge }: { default: Edge } = await import(`${FOLDER}/edge.ts`)
  const { vars } = parseToml(blockWith('DEFAULT_TOOLS')) as { vars: Record<string, string> }
  const env = {
    AUTH: 'open',
    OPENAI_API_KEY: 'key',
    ...model.vars,
    ...vars,
    DIRECTORIES: memoryDirectories(),
    TOOL_ROOMS: new Worker({}, {}),
  }
  const body = JSON.stringify({ input })
  const headers = { 'content-type': 'application/json' }
  const request = new Request('http://127.0.0.1:8787/runs', { method: 'POST', headers, body })
  const response = await edge.fetch(request, env, { waitUntil: () => {} })
  return (await response.json()) as Record<string, unknown>
}

const offers = () => model.requests.map(({ tools = [] }) => tools.map(({ function: { name } }) => name))

test('the hook of the page offers a tool to the runs that need it alone', async () => {
  await run('Good morning')
  await run('I want a booking')
  expect(offers()).toEqual([['findRoom'], ['findRoom', 'bookRoom']])
})

test('the hook of the page refuses a call with a reason that the model reads', async () => {
  const { status, answer } = await run('Two bookings, please')
  const results = model.requests[1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  expect([status, answer, bookings]).toEqual(['completed', 'Done.', [20]])
  expect(results).toEqual(['Booking 1', 'At most 100; ask for less.'])
})
