import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'
import { type FaultyTool, startFaultyTool, type InjectedFault } from '../../src/testing/faulty-tool.ts'
import { startRecordedModel } from '../../src/testing/recorded-model.ts'
import { startScriptedModel } from '../../src/testing/scripted-model.ts'

const CORE = join(import.meta.dirname, '../fixtures/core-edge')
const KEY = 'sk-a-key-that-nobody-may-read'
const temp = mkdtempSync(join(tmpdir(), 'edgecall-kit-'))
const file = join(temp, 'recorded/orders.jsonl')

/** The core edge with one tool, bound as `TOOL_PAY`. */
function edgeConfig(): string {
  const config = { ...parse(readFileSync(join(CORE, 'wrangler.toml'), 'utf8')), main: join(CORE, 'index.ts') }
  const path = join(temp, 'edge.json')
  writeFileSync(path, JSON.stringify({ ...config, services: [{ binding: 'TOOL_PAY', service: 'faulty-tool' }] }))
  return path
}

/** Starts that edge, and returns what posts to it. */
async function startEdge(tool: FaultyTool, vars: Record<string, string>) {
  const configPath = edgeConfig()
  const harness = createTestHarness({ workers: [{ configPath, vars: { AUTH: 'open', ...vars } }, tool.worker] })
  const { url } = await harness.listen()
  return {
    close: () => harness.close(),
    post: async (path: string, json: object): Promise<any> => {
      const body = JSON.stringify(json)
      const response = await fetch(new URL(path, url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      return response.json()
    },
  }
}

afterAll(() => rmSync(temp, { recursive: true }))

describe('a tool that fails on purpose', () => {
  let fault: InjectedFault
  let tool: FaultyTool
  let edge: Awaited<ReturnType<typeof startEdge>>

  beforeAll(async () => {
    tool = await startFaultyTool({ tools: [{ name: 'pay' }], faults: () => fault })
    edge = await startEdge(tool, { CALL_TIMEOUT_MS: '1500', MAX_RESULT_BYTES: '1000' })
  })
  afterAll(async () => {
    await edge?.close()
    await tool?.close()
  })

  test.each<[InjectedFault, object, effects: number]>([
    ['answer', { ok: true, content: [{ type: 'text', text: 'done' }] }, 1],
    ['throw', { ok: false, error: { code: 'tool_failed' } }, 0],
    ['crash', { ok: false, error: { code: 'tool_failed' } }, 1],
    // A success in between, so that the edge does not pause the tool.
    [{ lateMs: 1 }, { ok: true }, 1],
    ['hang', { ok: false, error: { code: 'timeout' } }, 0],
    ['twice', { ok: false, error: { code: 'tool_failed' } }, 1],
    ['garbage', { ok: false, error: { code: 'bad_outcome' } }, 1],
    [{ lateMs: 5000 }, { ok: false, error: { code: 'timeout' } }, 1],
    [{ bytes: 100_000 }, { ok: true, content: [{ text: expect.stringMatching(/^x{900,1000}\n/) }] }, 1],
  ])('shows what the edge makes of %o', async (wanted, outcome, effects) => {
    fault = wanted
    const before = { calls: tool.calls.length, effects: tool.effects.length }
    expect(await edge.post('/tools/pay/call', { arguments: {} })).toMatchObject(outcome)
    expect(tool.calls.length - before.calls).toBe(1)
    expect(tool.effects.length - before.effects).toBe(effects)
  })
})

describe('a recorded model', () => {
  const question = { input: 'Pay, please.', tools: ['pay'] }
  const answer = { status: 'completed', answer: 'Paid with sums of 7.', calls: [{ tool: 'pay', ok: true }] }

  test('answers as the provider did, with new ids in the requests, and has recorded no key', async () => {
    const provider = await startScriptedModel((_, index) =>
      index === 0 ? { calls: [{ tool: 'pay' }] } : { text: 'Paid with sums of 7.', reasoning: `I know ${KEY}.` },
    )
    const recording = await startRecordedModel({ file, mode: 'record', provider: provider.vars.OPENAI_BASE_URL })
    const tool = await startFaultyTool({ tools: [{ name: 'pay' }] })
    const vars = { MODEL: 'openai/scripted', OPENAI_API_KEY: KEY }
    const first = await startEdge(tool, { ...vars, OPENAI_BASE_URL: recording.baseUrl })
    expect(await first.post('/runs', question)).toMatchObject(answer)
    await first.close()
    await recording.close()
    await provider.close()
    expect(provider.requests).toHaveLength(2)
    expect(readFileSync(file, 'utf8')).toContain('[key]')
    expect(readFileSync(file, 'utf8')).not.toContain(KEY)

    const replay = await startRecordedModel({ file, mode: 'replay' })
    const second = await startEdge(tool, { MODEL: 'openai/scripted', OPENAI_BASE_URL: replay.baseUrl })
    expect(await second.post('/runs', question)).toMatchObject(answer)
    // Both answers have been given.
    expect(await second.post('/runs', question)).toMatchObject({ code: 'model_refused_request' })
    await second.close()
    await tool.close()
    await expect(replay.close()).rejects.toThrow('Request 3, to /chat/completions, has no recorded answer')
  })
})
