import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { ROWS_READ } from '../../src/contract/platform.ts'
import type { StatementCount } from '../fixtures/counted-edge/index.ts'
import { eventually } from '../fixtures/eventually.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'

/** The rows that runs write and read on workerd, which counts those of indexes too (test/fixtures/counted-edge). */
let model: ModelServer
let harness: TestHarness
let url: URL
let replies: ModelReply[] = []

const ZONES = ['UTC', 'Asia/Tokyo', 'Europe/Berlin']
const USAGE = { inputTokens: 10, outputTokens: 5 }

beforeAll(async () => {
  model = await startModelServer(() => replies.shift() ?? { chunks: chunksOf({ text: 'Done.', usage: USAGE }) })
  const keys = withKeys(apiKey('plain'), apiKey('budgeted', { budget: { tokens: 1e9, per: 'month' } }))
  const vars = { ...keys, MODEL: 'openai/test', OPENAI_BASE_URL: model.baseUrl }
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      { configPath: 'test/fixtures/counted-edge/wrangler.toml', vars },
      { configPath: 'test/fixtures/basic-clock/wrangler.toml' },
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness?.close()
  await model?.close()
})

async function ask(path: string, key: string, json?: object): Promise<unknown> {
  const headers = { ...bearer(key), 'content-type': 'application/json' }
  const body = json && { method: 'POST', body: JSON.stringify(json) }
  return (await fetch(new URL(path, url), { ...body, headers })).json()
}

/** Returns what the statements since the last call have cost, once so many reports of runs have been taken. */
async function countsOfRun(reports = 1): Promise<StatementCount[]> {
  const all: StatementCount[] = []
  await eventually(async () => {
    all.push(...((await ask('/counts', 'plain')) as StatementCount[]))
    const drops = all.filter(({ statement }) => statement.startsWith('DELETE FROM notices'))
    expect(drops.reduce((sum, { executions }) => sum + executions, 0)).toBeGreaterThanOrEqual(reports)
  })
  return all
}

interface Rows {
  readonly conversation: number
  readonly directory: number
}

function sum(counts: readonly StatementCount[], what: 'read' | 'written'): Rows {
  const of = (object: string) => counts.reduce((rows, each) => rows + (each.object === object ? each[what] : 0), 0)
  return { conversation: of('conversation'), directory: of('directory') }
}

/** Runs a turn of so many calls, in a step for each or in one step, and returns its rows, alarms apart. */
async function rowsOfRun(
  conversation: string,
  { key = 'plain', calls = 0, inOneStep = false },
): Promise<{ readonly read: Rows; readonly written: Rows }> {
  const names = Array.from({ length: calls }, (_, at) => ({
    id: `c${at}`,
    tool: 'currentTime',
    arguments: JSON.stringify({ timeZone: ZONES[at] }),
  }))
  const steps = inOneStep ? [names] : names.map((each) => [each])
  replies = steps.filter((step) => step.length > 0).map((step) => ({ chunks: chunksOf({ calls: step, usage: USAGE }) }))
  const run = await ask(`/conversations/${conversation}/runs`, key, { input: 'Go' })
  expect(run).toMatchObject({ status: 'completed', calls: names.map(() => ({ ok: true })) })
  const counts = await countsOfRun()
  return { read: sum(counts, 'read'), written: sum(counts, 'written') }
}

test('a stored run writes and reads so many rows, its alarms and pruning apart', async () => {
  await ask('/conversations', 'plain', { id: 'a' })
  await rowsOfRun('a', {})
  const [alone, withSteps, inOneStep] = [
    await rowsOfRun('a', {}),
    await rowsOfRun('a', { calls: 3 }),
    await rowsOfRun('a', { calls: 3, inOneStep: true }),
  ]
  expect(alone.written).toEqual({ conversation: 11, directory: 4 })
  expect(withSteps.written).toEqual({ conversation: 23, directory: 4 })
  expect(inOneStep.written).toEqual({ conversation: 19, directory: 4 })
  // How many are read depends on how many there are, and on what an earlier run has left to do.
  const isAbout = (rows: number, expected: number) => Math.abs(rows - expected) <= expected / 2
  const readTwice = async (first: { readonly read: Rows }, calls: number) => {
    const sums = [first, await rowsOfRun('a', { calls })].map(({ read }) => read.conversation + read.directory)
    return Math.min(...sums)
  }
  const [least, most] = [await readTwice(alone, 0), await readTwice(withSteps, 3)]
  expect([least, most]).toSatisfy(() => isAbout(least, ROWS_READ.run))
  expect([least, most]).toSatisfy(() => isAbout((most - least) / 3, ROWS_READ.stepWithCall))
})

test('a budget adds 2 rows in the conversation and 6 in the object of the tenant to a run', async () => {
  await ask('/conversations', 'budgeted', { id: 'b' })
  await rowsOfRun('b', { key: 'budgeted' })
  const { written } = await rowsOfRun('b', { key: 'budgeted' })
  expect(written).toEqual({ conversation: 13, directory: 10 })
})

test('a call of an agent whose run is stored writes a conversation of its own; one that is part of its call, a step', async () => {
  await ask('/conversations', 'plain', { id: 'c' })
  const rowsOfAgent = async (agent: string, reports: number) => {
    const call = { id: 'c0', tool: agent, arguments: JSON.stringify({ question: 'Go?' }) }
    replies = [{ chunks: chunksOf({ calls: [call], usage: USAGE }) }]
    const run = await ask('/conversations/c/runs', 'plain', { input: 'Go', tools: [agent] })
    expect(run).toMatchObject({ status: 'completed', calls: [{ tool: agent, ok: true }] })
    return sum(await countsOfRun(reports), 'written')
  }
  await rowsOfAgent('guest', 1)
  await rowsOfAgent('clerk', 3)
  expect(await rowsOfAgent('guest', 1)).toEqual({ conversation: 15, directory: 4 })
  expect(await rowsOfAgent('clerk', 3)).toEqual({ conversation: 52, directory: 10 })
})

test('a run reads no more rows in a long conversation than in a short one', async () => {
  await ask('/conversations', 'plain', { id: 'long' })
  const readAfter = async (runs: number) => {
    for (let at = 0; at < runs; at++) await rowsOfRun('long', {})
    return (await rowsOfRun('long', {})).read.conversation
  }
  const [short, long] = [await readAfter(10), await readAfter(60)]
  expect(long - short).toBeLessThan(20)
})
