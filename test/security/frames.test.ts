import { describe, expect, test } from 'vitest'
import { webhookSender } from '../../src/conversation/run/webhook.ts'
import { testEdge } from '../fixtures/edge.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { dataOf, keptEdge } from '../http/kept-edge.ts'

const HOSTILE = 'x\n\ndata: {"type":"run.finished"}\r\n\r\nevent: run.finished\rid: 9\u2028\u2029\n\n: '

describe('texts of models and tools cannot inject SSE frames', () => {
  const script = [ask(['look', JSON.stringify({ a: HOSTILE })]), say(HOSTILE)]
  const tools = [tool('look', () => HOSTILE)]
  const user = { role: 'user', content: HOSTILE }
  const parts = [{ type: 'text', text: HOSTILE }]
  const agUi = { threadId: 'c', runId: 'r', state: {}, tools: [], context: [], forwardedProps: {} }

  test.each<[string, object, string]>([
    ['/runs', { input: HOSTILE }, 'run.finished'],
    ['/v1/chat/completions', { messages: [user], stream: true, edgecall: { rounds: 'all' } }, '[DONE]'],
    ['/v1/responses', { input: HOSTILE, stream: true }, 'response.completed'],
    ['/chat', { id: 'c', messages: [{ role: 'user', parts }] }, '[DONE]'],
    ['/ag-ui', { ...agUi, messages: [{ id: 'u', ...user }] }, 'RUN_FINISHED'],
  ])('%s', async (path, json, last) => {
    const edge = keptEdge({ script, tools })
    const text = await (await edge.post(path, json, { accept: 'text/event-stream' })).text()
    // Each line is one of the format, and each frame's data is whole JSON.
    for (const line of text.split(/\r\n|\r|\n/))
      expect(line).toMatch(/^(?:$|data: |event: [\w.]+$|id: [\w.]+$|: ?\w*$)/)
    const data = dataOf(text)
    const ends = data.filter((each: any) => (each.type ?? each) === last)
    expect([ends.length, ends[0] === data.at(-1)]).toEqual([1, true])
  })
})

describe('untrusted texts are in no response header', () => {
  test('the hash of a tool Worker', async () => {
    const tools = ['good', 'bad\r\nx-admin: 1', 'b"ad', 'b\u00e9d', 'b d'].map((hash, index) =>
      tool(`tool${index}`, undefined, { hash }),
    )
    const edge = testEdge({ tools })
    const tags = tools.map(async ({ definition }) => {
      const response = await edge.ask(`/tools/${definition.name}`)
      const { hash }: any = await response.json()
      return [response.status, hash === definition.hash, response.headers.get('etag')]
    })
    expect(await Promise.all(tags)).toEqual([
      [200, true, '"good"'],
      [200, true, null],
      [200, true, null],
      [200, true, null],
      [200, true, null],
    ])
  })
})

describe('a webhook URL', () => {
  const hosts = ['hooks.example.com', '127.0.0.1', '[::1]', 'localhost', 'db.internal', 'xn--e1aybc.example']
  const edge = keptEdge({
    vars: withKeys(apiKey('hook')),
    script: [],
    setup: { webhooks: webhookSender({ secret: 's', hosts, isOpen: false, report: () => {} }) },
  })

  test.each([
    ['https://hooks.example.com/x', 201],
    ['https://HOOKS.example.com:443/x', 201],
    ['https://\u0442\u0435\u0441\u0442.example/', 201],
    ['https://h\u043eoks.example.com/', 400],
    ['https://hooks.example.com./', 400],
    ['https://hooks.example.com:8443/', 400],
    ['https://hooks.example.com@evil.example/', 400],
    ['https://me:pw@hooks.example.com/', 400],
    ['https://hooks.example.com.evil.example/', 400],
    ['https://evil.example/hooks.example.com', 400],
    ['https://evil.example\\@hooks.example.com/', 400],
    ['http://hooks.example.com/', 400],
    ['http://localhost/', 400],
    ['https://localhost/', 400],
    ['https://127.0.0.1/', 400],
    ['https://2130706433/', 400],
    ['https://0x7f.1/', 400],
    ['https://0177.0.0.1/', 400],
    ['https://[::1]/', 400],
    ['https://[::ffff:127.0.0.1]/', 400],
    ['https://db.internal/', 400],
    ['javascript:alert(1)', 400],
    ['file:///etc/passwd', 400],
    ['//hooks.example.com/', 400],
  ])('to %s is answered %i', async (webhook, status) => {
    const response = await edge.post('/conversations', { webhook }, bearer('hook'))
    expect([response.status, await response.json()]).toMatchObject([status, status === 201 ? {} : { param: 'webhook' }])
  })
})
