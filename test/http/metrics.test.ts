import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const VARS = {
  ...withKeys(
    apiKey('web', { id: 'web', tenant: 'acme', scopes: ['chat'], budget: { tokens: 20, per: 'month' } }),
    apiKey('reader', { id: 'reader', tenant: 'acme', scopes: ['metrics'] }),
    apiKey('operator', { id: 'operator', tenant: 'ops', scopes: ['metrics', 'keys'] }),
  ),
  MODELS: 'test/scripted',
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const meteredEdge = () => {
  const edge = keptEdge({
    script: Array.from({ length: 5 }, () => say('Hello.')),
    vars: VARS,
    tools: [tool('pay')],
    listsRuns: true,
  })
  return {
    ...edge,
    /** Sends a run, and lets the isolate count what it has collected. */
    run: async (headers: Record<string, string>) => {
      const { status } = await edge.post('/runs', { input: 'Hi' }, headers)
      await vi.advanceTimersByTimeAsync(5000)
      await edge.settle()
      return status
    },
    /** Returns the lines of metrics with one of these names. */
    lines: async (key: string, pattern: RegExp, path = '/metrics') => {
      const text = await (await edge.fetch(path, { headers: bearer(key) })).text()
      return text.split('\n').filter((line) => pattern.test(line))
    },
  }
}

describe('GET /metrics', () => {
  test('has the series that are to be expected before anything is counted, each once', async () => {
    const { lines, run } = meteredEdge()
    const before = await lines('reader', /^edgecall_/)
    expect(before).toEqual(
      expect.arrayContaining([
        'edgecall_runs_total{model="test/scripted",status="failed",finish="error"} 0',
        'edgecall_run_errors_total{code="model_unavailable"} 0',
        'edgecall_calls_total{tool="pay",outcome="tool_failed"} 0',
        'edgecall_tokens_total{model="test/scripted",key="web",kind="input"} 0',
        'edgecall_limits_total{limit="cost"} 0',
        'edgecall_run_duration_seconds_bucket{model="test/scripted",le="+Inf"} 0',
        'edgecall_run_duration_seconds_count{model="test/scripted"} 0',
        'edgecall_refused_requests_total{status="429",code="budget_exhausted"} 0',
      ]),
    )
    expect(await run(bearer('web'))).toBe(200)
    const after = await lines('reader', /^edgecall_/)
    const names = after.map((line) => line.replace(/ [^ ]*$/, ''))
    expect(new Set(names).size).toBe(names.length)
    // No series has gone, and those that were expected have risen.
    expect(before.map((line) => line.replace(/ [^ ]*$/, '')).filter((name) => !names.includes(name))).toEqual([])
    expect(after).toContain('edgecall_runs_total{model="test/scripted",status="completed",finish="stop"} 1')
    expect(after).toContain('edgecall_tokens_total{model="test/scripted",key="web",kind="input"} 10')
  })

  test('counts requests that are refused, for their tenant or for the edge', async () => {
    const { lines, run } = meteredEdge()
    await run(bearer('web'))
    await run(bearer('web'))
    expect(await run(bearer('web'))).toBe(429)
    expect(await run(bearer('reader'))).toBe(403)
    expect([await run(bearer('stranger')), await run(bearer('stranger'))]).toEqual([401, 401])
    const refusals = /^edgecall_refused_requests_total.* [^0]/
    expect((await lines('reader', refusals)).toSorted()).toEqual([
      'edgecall_refused_requests_total{status="403",code="missing_scope"} 1',
      'edgecall_refused_requests_total{status="429",code="budget_exhausted"} 1',
    ])
    expect((await lines('operator', refusals, '/metrics?tenants=all')).toSorted()).toEqual([
      'edgecall_refused_requests_total{status="401",code="unauthorized"} 2',
      'edgecall_refused_requests_total{tenant="acme",status="403",code="missing_scope"} 1',
      'edgecall_refused_requests_total{tenant="acme",status="429",code="budget_exhausted"} 1',
    ])
  })

  test('counts refusals although the request that was to count them is dropped by the platform', async () => {
    const { lines, post } = meteredEdge()
    const refuse = async () => expect((await post('/runs', { input: 'Hi' }, bearer('reader'))).status).toBe(403)
    await refuse()
    vi.clearAllTimers()
    await vi.advanceTimersByTimeAsync(10_000)
    await refuse()
    await vi.advanceTimersByTimeAsync(5000)
    expect(await lines('reader', /^edgecall_refused_requests_total.* [^0]/)).toEqual([
      'edgecall_refused_requests_total{status="403",code="missing_scope"} 2',
    ])
  })

  test('has all tenants for operators alone, page by page', async () => {
    const { fetch, lines, run } = meteredEdge()
    await run(bearer('web'))
    const runs = /^edgecall_runs_total.*completed.*stop/
    expect(await lines('operator', runs, '/metrics?tenants=all')).toEqual([
      'edgecall_runs_total{tenant="acme",model="test/scripted",status="completed",finish="stop"} 1',
      'edgecall_runs_total{tenant="ops",model="test/scripted",status="completed",finish="stop"} 0',
    ])
    expect(await lines('operator', runs, '/metrics?tenants=all&after=acme')).toHaveLength(1)
    expect((await fetch('/metrics?tenants=all', { headers: bearer('reader') })).status).toBe(403)
    expect((await fetch('/metrics?tenants=acme', { headers: bearer('operator') })).status).toBe(422)
  })
})
