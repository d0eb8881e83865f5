import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { start } from '../cli/command.ts'
import { eventually } from '../fixtures/eventually.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname
let model: ModelServer
let harness: TestHarness
let url: URL

beforeAll(async () => {
  model = await startModelServer(() => ({ chunks: chunksOf({ text: 'Here is the answer.' }) }))
  const vars = { AUTH: 'open', MODEL: 'openai/test', OPENAI_API_KEY: 'k', OPENAI_BASE_URL: model.baseUrl }
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [{ configPath: 'test/fixtures/triggered-edge/wrangler.toml', vars }],
  })
  url = (await harness.listen()).url
})

afterAll(async () => {
  await harness?.close()
  await model?.close()
})

/** Runs `edgecall trigger` against the edge. */
async function trigger(...args: string[]) {
  const command = start(process.execPath, [MAIN, 'trigger', ...args], { env: { EDGECALL_URL: url.origin } })
  try {
    return { code: await command.ended, out: command.out(), errors: command.errors() }
  } finally {
    command.kill()
  }
}

/** Waits until the model was asked this, and returns how often. */
async function countAsks(text: string): Promise<number> {
  const quoted = JSON.stringify(text).slice(1, -1)
  const count = () => model.calls.filter(({ body }) => JSON.stringify(body.messages.at(-1)).includes(quoted)).length
  await eventually(() => expect(count()).toBeGreaterThan(0))
  return count()
}

describe('edgecall trigger', () => {
  test('lets a time of a cron trigger come, once', async () => {
    for (let time = 0; time < 2; time++) {
      expect(await trigger('nightly', '2026-01-01T02:00:00Z')).toEqual({
        ...{ code: 0, errors: '' },
        out: 'nightly has handled 2026-01-01T02:00:00.000Z.\n',
      })
    }
    expect(await countAsks('Tidy up.')).toBe(1)
  })

  test('delivers a mail, with the header of an authenticated sender, and says why one is rejected', async () => {
    expect(await trigger('desk', 'Where is my order?')).toEqual({
      ...{ code: 0, out: 'desk has accepted the mail.\n', errors: '' },
    })
    expect(await countAsks('Where is my order?')).toBe(1)
    const refusal = await trigger('desk', 'Hello', '--from', 'eve@evil.test')
    expect(refusal).toMatchObject({ code: 1, out: '' })
    expect(refusal.errors).toContain('The mail is rejected: This address accepts no mail from you.')
  })

  test('sends the body of a message, or of a request that nobody has signed', async () => {
    const order = await trigger('orders', '{"id":7}')
    expect(order).toEqual({ code: 0, errors: '', out: expect.stringMatching(/^run_\w+ in conv_\w+\n$/) })
    expect(await countAsks('Order {"id":7}')).toBe(1)
    expect((await trigger('orders', '"nothing"')).out).toBe('Nothing is to be started.\n')
    expect((await trigger('github', '{"action":"opened"}')).code).toBe(0)
    expect(await countAsks('Event {')).toBe(1)
  })

  test('says which triggers there are', async () => {
    const unknown = await trigger('nothing')
    expect(unknown.code).toBe(1)
    expect(unknown.errors).toContain('There is no trigger "nothing".')
    expect(unknown.errors).toContain('The edge has: nightly, orders, github, desk.')
  })
})

test('a message of a real queue starts its run', async () => {
  const env: any = await harness.getWorker('triggered-edge').getEnv()
  await env.ORDERS.send('of the queue')
  expect(await countAsks('of the queue')).toBe(1)
})
