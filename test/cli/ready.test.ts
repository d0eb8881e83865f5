import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Stopped } from '../../src/cli/failure.ts'
import { type ReadyOptions, untilReady } from '../../src/cli/ready.ts'

const CLOCK = { name: 'currentTime', source: 'service', place: 'TOOL_CLOCK', available: true }
const NO_ALARM = {
  name: 'TOOL_ALARM',
  source: 'service',
  place: 'TOOL_ALARM',
  available: false,
  reason: 'it has no describe()',
}
const NO_STORED = {
  name: 'tool:old',
  source: 'kv',
  place: 'tool:old',
  available: false,
  reason: 'there is no binding TOOL_OLD',
}
const ALARM = { name: 'setAlarm', source: 'service', place: 'TOOL_ALARM', available: true }

/** Waits for an edge that lists these tools, one answer after another; the last one again and again. */
async function wait(listings: object[][], options: Partial<ReadyOptions> = {}, health: object = {}) {
  let requestCount = 0
  const server = createServer((request, response) => {
    const tools = listings[Math.min(requestCount, listings.length - 1)]
    if (request.url?.startsWith('/tools')) requestCount += 1
    const isWell = Object.keys(health).length === 0
    response.writeHead(isWell ? 200 : 503).end(JSON.stringify(request.url?.startsWith('/tools') ? tools : health))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return untilReady({ url }, { ...OPTIONS, ...options })
}

const OPTIONS: ReadyOptions = {
  output: { lastLines: () => 'last words', hasFailed: () => false },
  signal: new AbortController().signal,
  onSlow: () => {},
  patienceMs: 0,
}

test('dev waits until every tool Worker has listed its tools', async () => {
  await expect(
    wait([[NO_ALARM], [CLOCK, NO_ALARM], [CLOCK, ALARM, NO_STORED]], { patienceMs: 10_000 }),
  ).resolves.toEqual([])
})

test('dev returns the tool Workers that have not answered when the time is over', async () => {
  await expect(wait([[CLOCK, NO_ALARM]])).resolves.toEqual([NO_ALARM])
})

test('dev does not wait for a tool whose name conflicts with another', async () => {
  const clash = { ...ALARM, available: false, reason: 'is defined differently by TOOL_ALARM and TOOL_CLOCK' }
  await expect(wait([[CLOCK, clash]], { patienceMs: 1e9 })).resolves.toEqual([])
})

test('dev does not wait for a tool Worker that offers nothing, or nothing to this caller', async () => {
  await expect(wait([[CLOCK]])).resolves.toEqual([])
})

test('dev does not wait for a tool that is held back, which only its operator can accept', async () => {
  const changedTool = { ...ALARM, available: false, reason: 'is held back', hash: 'b', accepted: 'a' }
  await expect(wait([[CLOCK, changedTool]])).resolves.toEqual([])
})

test('dev does not wait for a problem that needs a change', async () => {
  await expect(wait([[]], {}, { code: 'misconfigured', detail: 'X must be Y' })).rejects.toMatchObject({
    message: 'X must be Y',
    hint: '',
  })
  const options = { ...OPTIONS, output: { lastLines: () => 'No such file', hasFailed: () => true } }
  await expect(untilReady({ url: 'http://127.0.0.1:1' }, options)).rejects.toMatchObject({
    message: 'The Workers cannot start. wrangler says:',
    hint: 'No such file',
  })
})

test('dev explains how to find the Worker that does not build', async () => {
  const output = { lastLines: () => '[ERROR] Build failed with 1 error:\n index.ts:1:1', hasFailed: () => true }
  await expect(untilReady({ url: 'http://127.0.0.1:1' }, { ...OPTIONS, output })).rejects.toMatchObject({
    hint: `${output.lastLines()}\n\nTo see which Worker it is: npx node src/cli/main.ts deploy --dry-run`,
  })
})

test('dev waits however long the edge does not answer, and says why', async () => {
  const stop = new AbortController()
  const messages: string[] = []
  const onSlow = (message: string) => {
    messages.push(message)
    if (messages.length === 3) stop.abort(new Stopped('SIGINT'))
  }
  const options = { ...OPTIONS, signal: stop.signal, onSlow, slowMs: 1 }
  await expect(untilReady({ url: 'http://127.0.0.1:1' }, options)).rejects.toThrow(new Stopped('SIGINT'))
  for (const message of messages) {
    expect(message).toMatch(/^Not ready yet after \d+ s: http:\/\/127\.0\.0\.1:1 does not answer/)
  }
})

test('a signal ends the wait of dev with the reason of the signal', async () => {
  const signal = AbortSignal.abort(new Stopped('SIGTERM'))
  await expect(wait([[]], { signal })).rejects.toThrow(new Stopped('SIGTERM'))
})
