import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { discordWebhooks, githubWebhooks, slackWebhooks, twilioWebhooks } from '../../src/triggers/services.ts'
import { type WebhookEvent, type WebhookRun, webhookTrigger, type WebhookTrigger } from '../../src/triggers/triggers.ts'
import type { WebhookScheme } from '../../src/triggers/verify.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { changesIn, NUMBER_PARTS } from '../fixtures/json-numbers.ts'
import { eventually } from '../fixtures/eventually.ts'
import { gatedTool } from '../fixtures/gated.ts'
import { ctx, triggeredEdge } from './triggered-edge.ts'

const HOOK = 'https://edge.example.com/triggers/hook'
const SECRET = 's'
const signatureOf = (body: string | Uint8Array) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
})
const env = { HOOK_SECRET: SECRET }

type Options = Partial<Omit<WebhookTrigger, 'on'>>

function hooked(options: Options, parts: Parameters<typeof triggeredEdge>[1] = {}) {
  const events: WebhookEvent[] = []
  const start = (event: WebhookEvent) => {
    events.push(event)
    return { run: { input: event.text || 'x' } }
  }
  const trigger = webhookTrigger({ scheme: githubWebhooks('HOOK_SECRET'), as: 'hook', start, ...options })
  return { events, ...triggeredEdge({ hook: trigger }, { env, ...parts }) }
}
const deliver = ({ send }: ReturnType<typeof hooked>, body: string, type = 'application/json') =>
  send(HOOK, { method: 'POST', body, headers: { 'content-type': type, ...signatureOf(body) } })
const partsOf = async (answer: Response) => ({
  status: answer.status,
  headers: Object.fromEntries(answer.headers),
  body: await answer.text(),
})

describe('what a body says', () => {
  const contentOf = async (body: string, type: string) => {
    const edge = hooked({})
    expect((await deliver(edge, body, type)).status).toBe(202)
    expect(edge.events[0]?.text).toBe(body)
    return edge.events[0]?.body
  }

  test('has the numbers that were sent, or their digits where JavaScript has no such number', async () => {
    const body = '{"id":9007199254740993,"big":1e400,"money":10.50,"small":7,"list":[2512292042121000001]}'
    expect(await contentOf(body, 'application/json')).toEqual({
      id: '9007199254740993',
      big: '1e400',
      money: 10.5,
      small: 7,
      list: ['2512292042121000001'],
    })
  })

  test('has every number of 10,000', async () => {
    for (const { numbers, list } of NUMBER_PARTS) {
      expect(changesIn(await contentOf(list, 'application/json'), numbers)).toEqual([[]])
    }
  })

  test('is the fields of a form, also of one with files', async () => {
    const form = 'a=1&b=x+y%26&b=%C3%A9&__proto__=p&payload=%7B%7D'
    const fields = await contentOf(form, 'application/x-www-form-urlencoded; charset=utf-8')
    expect(Object.entries(fields as object)).toEqual([
      ['a', '1'],
      ['b', ['x y&', 'é']],
      ['__proto__', 'p'],
      ['payload', '{}'],
    ])
    const part = (name: string, value: string) =>
      `--B\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
    const file =
      '--B\r\ncontent-disposition: form-data; name="f"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\nhi\r\n'
    const multipart = await contentOf(`${part('a', '1')}${file}--B--\r\n`, 'multipart/form-data; boundary=B')
    expect(multipart).toEqual({ a: '1', f: { name: 'a.txt', mediaType: 'text/plain', data: 'aGk=' } })
  })

  test('is the payload of a form that has nothing else', async () => {
    const form = 'application/x-www-form-urlencoded'
    expect(await contentOf('payload=%7B%22id%22%3A12345678901234567890%7D', form)).toEqual({
      id: '12345678901234567890',
    })
    expect(await contentOf('payload=text', form)).toEqual({ payload: 'text' })
  })

  test('is nothing if it is neither JSON nor a form', async () => {
    const bodies = [
      ['<a/>', 'text/xml'],
      [`${'['.repeat(5000)}${']'.repeat(5000)}`, 'application/json'],
      ['--B', 'multipart/form-data; boundary=B'],
      ['', 'application/json'],
    ] as const
    for (const [body, type] of bodies) expect(await contentOf(body, type)).toBeUndefined()
  })
})

describe('an answer of the author', () => {
  test('has any status, headers and content, and is given once the run is accepted', async () => {
    const answers: Record<string, () => Response> = {
      empty: () => new Response(null, { status: 204 }),
      json: () => Response.json({ text: 'On it.' }, { status: 201, headers: { 'x-own': '1' } }),
      xml: () => new Response('<Response><Say>Hi</Say></Response>', { headers: { 'content-type': 'text/xml' } }),
    }
    const runs: (WebhookRun | undefined)[] = []
    const answer = (event: WebhookEvent, run: WebhookRun | undefined) => {
      runs.push(run)
      return answers[event.text]?.() ?? expect.unreachable()
    }
    const edge = hooked({ answer })
    expect(await partsOf(await deliver(edge, 'empty'))).toEqual({ status: 204, headers: {}, body: '' })
    expect(await partsOf(await deliver(edge, 'json'))).toEqual({
      status: 201,
      headers: { 'content-type': 'application/json', 'x-own': '1' },
      body: '{"text":"On it."}',
    })
    expect(await partsOf(await deliver(edge, 'xml'))).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/xml' },
    })
    const id: unknown = expect.stringMatching(/^run_/)
    const run = { id, conversation: expect.stringMatching(/^conv_/), status: 'running', answer: '' }
    expect(runs).toEqual([run, run, run])
    expect(edge.own.objects.size).toBe(3)
  })

  test('can have that of the run, if it ends in time', async () => {
    const answer = (_: WebhookEvent, run: WebhookRun | undefined) =>
      Response.json({ text: run?.answer, status: run?.status })
    const edge = hooked({ answer, waitMs: 60_000 }, { script: [say('Seven are left.')] })
    expect(await (await deliver(edge, 'How many?')).json()).toEqual({ text: 'Seven are left.', status: 'completed' })
  })

  test('does not wait longer than it says, and the run continues', async () => {
    const { slow, letGo } = gatedTool()
    const answer = (_: WebhookEvent, run: WebhookRun | undefined) => Response.json(run)
    const edge = hooked(
      { answer, waitMs: 50, start: () => ({ run: { input: 'x', tools: ['slow'] } }) },
      { script: [ask(['slow', {}]), say('Seven.')], tools: [slow] },
    )
    const early = (await (await deliver(edge, 'a')).json()) as WebhookRun
    expect(early).toMatchObject({ status: 'running', answer: '' })
    letGo()
    await edge.own.settle()
    const path = `/conversations/${early.conversation}/runs/${early.id}`
    await eventually(async () =>
      expect(await (await edge.own.fetch(path)).json()).toMatchObject({ status: 'completed', answer: 'Seven.' }),
    )
  })

  test('is told if nothing is started, and not asked if the run is refused', async () => {
    const runs: unknown[] = []
    const answer = (_: WebhookEvent, run: WebhookRun | undefined) => {
      runs.push(run)
      return new Response('ok')
    }
    const edge = hooked({
      answer,
      start: ({ text }) => (text === 'no' ? undefined : { run: { input: 'x', limits: { steps: 0 } } }),
    })
    expect(await (await deliver(edge, 'no')).text()).toBe('ok')
    expect(await (await deliver(edge, 'bad')).json()).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(runs).toEqual([undefined])
  })

  test('does not get the answer of a run that has read untrusted and private data', async () => {
    const answer = (_: WebhookEvent, run: WebhookRun | undefined) => Response.json(run)
    const secretTool = tool('salaries', () => ({ ok: true, content: [{ type: 'text', text: '9,000' }] }), {
      annotations: { private: true, readOnly: true },
    })
    const withTaintRule = (vars: Record<string, string>) =>
      hooked(
        { answer, waitMs: 60_000, start: () => ({ run: { input: 'x', tools: ['salaries'] } }) },
        { script: [ask(['salaries', {}]), say('They are 9,000.')], tools: [secretTool], vars },
      )
    const edge = withTaintRule({})
    expect(await (await deliver(edge, 'a')).json()).toMatchObject({ status: 'completed', answer: '' })
    expect(edge.reports).toMatchObject([{ event: 'answer.not_sent', to: 'response' }])
  })

  test('that throws is a failure for the service, which sends the delivery again', async () => {
    let count = 0
    const answer = () => {
      count += 1
      if (count === 1) throw new Error('no')
      return new Response('ok')
    }
    const edge = hooked({ answer })
    expect((await deliver(edge, 'a')).status).toBe(500)
    expect(await (await deliver(edge, 'a')).text()).toBe('ok')
    expect(edge.own.objects.size).toBe(1)
  })
})

describe('a service is answered as it expects', () => {
  const acknowledge = ({ acknowledge: of }: WebhookScheme, body: string) =>
    of?.({ method: 'POST', url: HOOK, headers: new Headers(), body, bytes: new Uint8Array(), now: 0 }) ??
    expect.unreachable()

  test('where the trigger has no answer of its own', async () => {
    const discord = (payload: object) => acknowledge(discordWebhooks('X'), JSON.stringify(payload))
    expect(await partsOf(acknowledge(slackWebhooks('X'), ''))).toEqual({ status: 200, headers: {}, body: '' })
    expect(await partsOf(acknowledge(twilioWebhooks('X'), ''))).toEqual({
      status: 200,
      headers: { 'content-type': 'text/xml' },
      body: '<Response/>',
    })
    const bodies = await Promise.all([2, 3, 4, 5].map(async (type) => discord({ type, token: 't' }).json()))
    expect(bodies).toEqual([{ type: 5 }, { type: 6 }, { type: 8, data: { choices: [] } }, { type: 5 }])
    expect(discord({ type: 1, event: { type: 'ENTITLEMENT_CREATE' } }).status).toBe(204)
  })
})

describe('a scheme', () => {
  const requests: unknown[] = []
  const scheme: WebhookScheme = {
    secret: 'HOOK_SECRET',
    verify: async ({ method, url, body, bytes, headers }, secrets, variables) => {
      requests.push([method, url, body, bytes.length, headers.get('x-a'), secrets, variables['OTHER']])
      if (new URL(url).searchParams.has('crc'))
        return Response.json({ token: secrets[0] }, { status: 202, headers: { 'x-b': '1' } })
      return new URL(url).searchParams.get('id') ?? undefined
    },
  }

  test('sees method, URL, query, raw body and secrets, and answers a handshake in any way', async () => {
    const edge = hooked({ scheme }, { env: { ...env, OTHER: 'o', EDGE_URL: 'https://public.example/' } })
    const handshake = await edge.send(`${HOOK}?crc=1`, { headers: { 'x-a': 'a' } })
    expect(await partsOf(handshake)).toMatchObject({ status: 202, headers: { 'x-b': '1' }, body: '{"token":"s"}' })
    const put = await edge.send(`${HOOK}?id=7&q=%20`, { method: 'PUT', body: Uint8Array.from([0xff, 0x41]) })
    expect(put.status).toBe(202)
    expect((await edge.send(`${HOOK}?q`, { method: 'POST' })).status).toBe(401)
    expect(requests).toEqual([
      ['GET', 'https://public.example/triggers/hook?crc=1', '', 0, 'a', ['s'], 'o'],
      ['PUT', 'https://public.example/triggers/hook?id=7&q=%20', '\ufffdA', 2, null, ['s'], 'o'],
      ['POST', 'https://public.example/triggers/hook?q', '', 0, null, ['s'], 'o'],
    ])
    const [event] = edge.events
    expect([event?.id, event?.method, event?.url]).toEqual([
      '7',
      'PUT',
      'https://public.example/triggers/hook?id=7&q=%20',
    ])
  })
})

test('a delivery with a compression is refused, and says so', async () => {
  const edge = hooked({})
  const answer = await edge.post('hook', '{}', { 'content-encoding': 'gzip' })
  expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_encoding' } })
  expect(edge.conversations()).toEqual([])
})

test('a delivery whose service hangs up starts its run', async () => {
  const beginning = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const start = async () => {
    beginning.resolve()
    await gate.promise
    return { run: { input: 'x' } }
  }
  const edge = hooked({ start })
  const before = ctx.works.length
  const answer = deliver(edge, '{}')
  await beginning.promise
  const [kept] = ctx.works.slice(before)
  gate.resolve()
  expect(await kept).toMatchObject({ ok: true, run: expect.stringMatching(/^run_/) })
  expect((await answer).status).toBe(202)
})
