import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { secretFilter } from '../../src/contract/secrets.ts'
import { serveOutcomes } from '../../src/http/surfaces/outcomes.ts'
import { reportAddresses } from '../../src/http/runs/take-report.ts'
import { settle } from '../fixtures/settle.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

const SECRET = 'a secret of the deployment'
const EDGE_SECRET = 'sk-0123456789abcdef'
const DAY = 24 * 60 * 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** A tool that answers later, and keeps where to report. */
function lateTool(urls: string[]) {
  return tool(
    'render',
    (_args, { reportTo }) => {
      urls.push(reportTo?.url ?? 'nowhere')
      const error = { code: 'later', message: 'Nobody can wait for it here.' }
      return { ok: false, error, later: { within: 8 * DAY } }
    },
    { later: true },
  )
}

interface WaitingRun {
  readonly edge: KeptEdge
  readonly url: string
  readonly token: string
  readonly record: () => Promise<any>
  readonly report: (body: unknown, url?: string) => Promise<{ status: number; body: any }>
}

/** Starts a run that waits for its tool. */
async function waitingRun(secrets = [SECRET]): Promise<WaitingRun> {
  const urls: string[] = []
  const addresses = (keys: readonly string[]) =>
    reportAddresses({ secrets: keys, edgeUrl: 'https://edge.example.com', filter: secretFilter([EDGE_SECRET]) })
  const edge = keptEdge({
    script: [ask(['render']), say('Here it is.')],
    tools: [lateTool(urls)],
    setup: { reportAddresses: addresses(secrets) },
  })
  await edge.post('/conversations', { id: 'one' })
  const started = await edge.post('/conversations/one/runs', { input: 'Render it', tools: ['render'] })
  expect(started.status).toBe(202)
  const { id } = (await started.json()) as { id: string }
  const [url = ''] = urls
  return {
    edge,
    url,
    token: url.split('/').at(-1) ?? '',
    record: async () => {
      await edge.settle()
      // What an alarm or a report has started ends by itself.
      await settle()
      return (await edge.fetch(`/conversations/one/runs/${id}`)).json()
    },
    report: async (body, to = url) => {
      const response = await edge.post(new URL(to).pathname, body)
      return { status: response.status, body: await response.json() }
    },
  }
}

describe('a report on a call that is answered later', () => {
  test('needs nothing but its address, and continues the run', async () => {
    const run = await waitingRun()
    expect(run.url).toMatch(/^https:\/\/edge\.example\.com\/outcomes\/[\w-]+\.[\w-]{43}$/)
    expect(await run.report({ progress: { message: 'half', fraction: 0.5 } })).toEqual({
      status: 200,
      body: { ok: true },
    })
    expect(await run.report({ result: { film: 7 } })).toEqual({ status: 200, body: { ok: true } })
    expect(await run.record()).toMatchObject({
      status: 'completed',
      calls: [{ ok: true, content: [{ type: 'text', text: '{"film":7}' }], structured: { film: 7 } }],
    })
    expect(run.edge.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', ok: true })
  })

  test('counts once: the same outcome again is accepted, another one is not', async () => {
    const run = await waitingRun()
    await run.report({ result: 'a film' })
    expect(await run.report({ result: 'a film' })).toMatchObject({ status: 200 })
    expect(await run.report({ result: 'a book' })).toMatchObject({
      status: 409,
      body: { code: 'call_already_answered' },
    })
    await run.record()
    expect(await run.report({ result: 'a film' })).toMatchObject({ status: 200 })
    expect(await run.report({ progress: { message: 'late' } })).toMatchObject({ status: 409 })
    expect(run.edge.requests).toHaveLength(2)
  })

  test.each([
    [
      'an error that the model reads',
      { error: 'The film is damaged.' },
      { code: 'tool_error', message: 'The film is damaged.' },
    ],
    ['an error with a code', { error: { code: 'no_disk', message: 'Full.' } }, { code: 'no_disk', message: 'Full.' }],
    [
      'an outcome as a tool answers it, which may not come later again',
      { outcome: { ok: false, error: { code: 'no', message: 'No.' }, later: { within: 1 } } },
      { code: 'no', message: 'No.' },
    ],
  ])('may be %s', async (_name, body, error) => {
    const run = await waitingRun()
    expect(await run.report(body)).toMatchObject({ status: 200 })
    expect(await run.record()).toMatchObject({ status: 'completed', calls: [{ ok: false, error }] })
  })

  test.each([
    ['no object', 'done'],
    ['nothing', {}],
    ['an outcome of another shape', { outcome: { ok: true, text: 'done' } }],
    ['an error without a message', { error: { code: 'no' } }],
    ['progress of another shape', { progress: 'half' }],
  ])('is refused, and uses nothing up, if it is %s', async (_name, body) => {
    const run = await waitingRun()
    expect(await run.report(body)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(await run.report({ result: 'a film' })).toMatchObject({ status: 200 })
  })

  test('contains no secret of the edge by the time that anyone reads it', async () => {
    const run = await waitingRun()
    await run.report({ progress: { message: `key ${EDGE_SECRET}` } })
    await run.report({ result: `key ${EDGE_SECRET}` })
    const { id } = await run.record()
    const events = await (await run.edge.fetch(`/conversations/one/runs/${id}/events`)).text()
    expect(events).toContain('key [redacted]')
    expect(events).not.toContain(EDGE_SECRET)
  })
})

describe('a token', () => {
  test('that is forged wakes no conversation', async () => {
    const run = await waitingRun()
    const [payload = '', signature = ''] = run.token.split('.')
    const other = btoa(JSON.stringify(['globex', 'one', 'run_x', 'call_x', Date.now() + DAY])).replaceAll('=', '')
    const tokens = [`${other}.${signature}`, `${payload}.${'A'.repeat(43)}`, payload, 'x', `${payload}.${signature}x`]
    const before = run.edge.objects.size
    for (const token of tokens) {
      const reply = await run.report({ result: 'forged' }, `https://edge.example.com/outcomes/${token}`)
      expect(reply).toMatchObject({ status: 404, body: { code: 'unknown_call' } })
    }
    expect(run.edge.objects.size).toBe(before)
    expect(await run.record()).toMatchObject({ status: 'waiting' })
  })

  test('is good for its own call alone, and needs no key', async () => {
    const [first, second] = [await waitingRun(), await waitingRun()]
    // Another edge with the same secret has no such run.
    expect(await second.report({ result: 'x' }, first.url)).toMatchObject({
      status: 404,
      body: { code: 'unknown_run' },
    })
    const headers = { authorization: 'Bearer of another tenant' }
    const response = await first.edge.post(new URL(first.url).pathname, { result: 'a film' }, headers)
    expect(response.status).toBe(200)
  })

  test('expires, and the call fails when its own time is up', async () => {
    const run = await waitingRun()
    vi.setSystemTime(Date.now() + 8 * DAY)
    expect(await run.report({ result: 'a film' })).toMatchObject({ status: 410, body: { code: 'report_expired' } })
    expect(await run.record()).toMatchObject({ status: 'completed', calls: [{ error: { code: 'no_outcome' } }] })
  })

  test('that an earlier secret signed is accepted while that secret is listed', async () => {
    const run = await waitingRun()
    const filter = undefined
    const read = (secrets: readonly string[]) => reportAddresses({ secrets, filter }).read(run.token)
    expect(await read(['a new secret', SECRET])).toMatchObject({ tenant: 'local', conversation: 'one' })
    expect(await read(['a new secret'])).toBeUndefined()
  })
})

test('the entrypoint for service bindings takes the same reports, and refuses by value', async () => {
  const run = await waitingRun()
  const Outcomes = serveOutcomes<object>(() => run.edge.setup)
  const service = new Outcomes({} as ExecutionContext, {})
  expect(await service.report('no token', { result: 'x' })).toEqual({
    ok: false,
    error: { code: 'unknown_call', message: 'This token names no call.' },
  })
  expect(await service.report(run.token, { result: 'x'.repeat(20_000_000) })).toMatchObject({
    error: { code: 'body_too_large' },
  })
  expect(await service.report(run.token, { result: 'a film' })).toEqual({ ok: true })
  expect(await run.record()).toMatchObject({ status: 'completed', calls: [{ ok: true }] })
})
