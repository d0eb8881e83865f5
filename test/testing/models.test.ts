import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { openai } from 'edgecall'
import { startRecordedModel } from '../../src/testing/recorded-model.ts'
import { type ScriptedAnswer, startScriptedModel } from '../../src/testing/scripted-model.ts'

const temp = mkdtempSync(join(tmpdir(), 'edgecall-models-'))
afterAll(() => rmSync(temp, { recursive: true }))

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hello' }], tools: [] }

/** What an edge reads of the model at a base URL, asked once. */
async function eventsOf(baseUrl: string): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  const signal = AbortSignal.timeout(10_000)
  for await (const event of openai({ baseUrl, provider: 'openai' })('scripted').stream(REQUEST, signal))
    events.push(event)
  return events
}

/** The last event that an edge reads of an answer of the script. */
async function lastEvent(...script: ScriptedAnswer[]): Promise<ModelEvent | undefined> {
  const model = await startScriptedModel(script)
  const events = await eventsOf(model.vars.OPENAI_BASE_URL)
  await model.close()
  return events.at(-1)
}

describe('a scripted model', () => {
  test('says texts and calls tools in the order of its script', async () => {
    const model = await startScriptedModel(['Hi.', { calls: [{ tool: 'add', arguments: { a: 1 } }] }])
    expect(await eventsOf(model.vars.OPENAI_BASE_URL)).toMatchObject([
      { type: 'text', text: 'Hi.' },
      { finish: 'stop' },
    ])
    expect(await eventsOf(model.vars.OPENAI_BASE_URL)).toContainEqual(
      expect.objectContaining({ type: 'call', tool: 'add', arguments: '{"a":1}' }),
    )
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 1])
    await model.close()
  })

  test.each<[string, ScriptedAnswer[], object]>([
    ['has no answer left', [], { type: 'error', error: { code: 'model_refused_request' } }],
    ['fails', [{ status: 401, message: 'No.' }], { type: 'error', error: { code: 'model_unauthorized' } }],
    ['breaks off', [{ text: 'Half of it.', end: 'cut' }], { type: 'error', error: { code: 'model_stream_cut' } }],
  ])('shows what an edge makes of a model that %s', async (_, script, event) => {
    expect(await lastEvent(...script)).toMatchObject(event)
  })
})

describe('a recorded model', () => {
  const post = (url: string, body: object) =>
    fetch(`${url}/chat/completions?key=secret-1&v=2`, {
      method: 'POST',
      headers: { 'x-api-key': 'secret-2' },
      body: JSON.stringify(body),
    })

  test('names the first difference of a request that was not recorded', async () => {
    const file = join(temp, 'difference.jsonl')
    const provider = await startScriptedModel(['One.'])
    const recording = await startRecordedModel({ file, mode: 'record', provider: provider.vars.OPENAI_BASE_URL })
    await post(recording.baseUrl, { messages: [{ content: 'a' }], model: 'm' })
    await recording.close()
    await provider.close()
    const replay = await startRecordedModel({ file, mode: 'replay' })
    const response = await post(replay.baseUrl, { messages: [{ content: 'b' }], model: 'm' })
    const message =
      'Request 1, to /chat/completions?v=2, has no recorded answer: it differs from the next recorded one at ' +
      '/messages/0/content ("b" instead of "a"). Record again, or leave that out in `comparable`.'
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: { message, type: 'invalid_request_error', code: 'not_recorded' } },
    ])
    expect(replay.problems).toEqual([message])
    await expect(replay.close()).rejects.toThrow(message)
  })

  test('compares what `comparable` leaves of a request', async () => {
    const file = join(temp, 'comparable.jsonl')
    const line = { path: '/chat/completions?v=2', body: { n: 1 }, status: 200, type: 'text/plain', answer: 'Yes.' }
    writeFileSync(file, `${JSON.stringify(line)}\n`)
    const replay = await startRecordedModel({ file, mode: 'replay', comparable: () => 'the same' })
    expect(await (await post(replay.baseUrl, { n: 2 })).text()).toBe('Yes.')
    await replay.close()
  })

  test('refuses to start without a recording, with a broken one, and to record without a provider', async () => {
    const file = join(temp, 'broken.jsonl')
    writeFileSync(file, '{"path":1}\n')
    await expect(startRecordedModel({ file, mode: 'replay' })).rejects.toThrow(`${file}:1 is not a recorded answer.`)
    const missing = join(temp, 'missing.jsonl')
    await expect(startRecordedModel({ file: missing, mode: 'replay' })).rejects.toThrow('record it first')
    await expect(startRecordedModel({ file, mode: 'record' })).rejects.toThrow('name the base URL of the provider')
  })
})
