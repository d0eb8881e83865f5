import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parse } from 'smol-toml'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { UNATTENDED } from '../../src/cli/wrangler.ts'
import { heldConfig } from '../../src/testing/platform.ts'
import { type Command, freePort, start } from '../cli/command.ts'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { readEvents } from './stage.ts'

const ROOT = new URL('../..', import.meta.url).pathname
/** The plan to whose limits the Workers are held, if any (vitest.config.ts). */
const PLAN = process.env['PLATFORM'] === 'paid' ? 'paid' : undefined
const QUESTION = 'I broke my leg what should I do'
const ADVICE = 'Call 112 now.\n\n- Do not move the leg. '

/** Whose model is asked: the edge's own, or that of an expert. */
type Who = 'edge' | 'router' | 'medical'

const temp = mkdtempSync(join(tmpdir(), 'agents-'))
let workers: Command
let models: { readonly edge: ModelServer; readonly experts: ModelServer }
let url: string
/** Who was asked, and with what last. */
let requests: { readonly who: Who; readonly last: Readonly<Record<string, unknown>> }[]
let replies: Record<Who, () => ModelReply>

beforeAll(async () => {
  const [edge, experts] = await Promise.all([startModel(), startModel()])
  models = { edge, experts }
  const configs = [
    install('wrangler.toml', { MODEL: 'openai/edge', OPENAI_BASE_URL: edge.baseUrl, AUTH: 'open' }),
    install('tools/experts/wrangler.toml', { MODEL: 'openai/expert', OPENAI_BASE_URL: experts.baseUrl }),
  ]
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  // Not the test harness: that does not pass on to a server that its Worker has left.
  const script = join(ROOT, 'node_modules/wrangler/bin/wrangler.js')
  const place = [
    '--ip',
    '127.0.0.1',
    '--port',
    String(port),
    '--inspector-port',
    '0',
    '--persist-to',
    join(temp, 'state'),
  ]
  workers = start(process.execPath, [script, 'dev', ...configs.flatMap((config) => ['-c', config]), ...place], {
    env: { ...UNATTENDED, TMPDIR: temp, WRANGLER_REGISTRY_PATH: join(temp, 'registry') },
  })
  await workers.until('Ready on')
})
afterAll(async () => {
  const limits = workers?.out().match(/"event":"platform\.limit","limit":"(?!cpu|connections|memory).*/g) ?? []
  workers?.kill()
  await workers?.ended
  await Promise.all([models?.edge.close(), models?.experts.close()])
  rmSync(temp, { recursive: true, force: true })
  expect(limits).toEqual([])
})
beforeEach(() => {
  requests = []
  replies = {
    edge: () => ask('router'),
    router: () => ask('medicalExpert'),
    medical: () => say(ADVICE),
  }
})

/** A Worker of the repository with these variables; the edge with the stanza that binds the experts, and no other tool. */
function install(configPath: string, vars: Record<string, string>): string {
  const text = readFileSync(join(ROOT, configPath), 'utf8')
  const wranglerText = text.replace(/^# (\[\[services\]\])\n# (binding = "TOOL_EXPERTS")\n# (.+)$/m, '$1\n$2\n$3')
  const { name, main, services = [], ...config } = parse(wranglerText) as object as Config
  const experts = services.filter(({ binding }) => binding === 'TOOL_EXPERTS')
  const path = join(temp, `${name}.json`)
  const fullConfig = { ...config, name, main: resolve(ROOT, dirname(configPath), main), services: experts, vars }
  writeFileSync(
    path,
    JSON.stringify(PLAN ? heldConfig(fullConfig, { plan: PLAN, folder: temp, moduleFolder: temp }) : fullConfig),
  )
  return path
}

interface Config {
  readonly name: string
  readonly main: string
  readonly services?: readonly { readonly binding: string }[]
}

function startModel(): Promise<ModelServer> {
  return startModelServer(({ body: { messages } }) => {
    const [{ role, content } = {}] = messages
    const expert = String(content).startsWith('You pass questions on') ? 'router' : 'medical'
    const who = role === 'system' ? expert : 'edge'
    requests.push({ who, last: messages.at(-1) ?? {} })
    return replies[who]()
  })
}

const usage = { inputTokens: 30, outputTokens: 5 }
const say = (text: string): ModelReply => ({ chunks: chunksOf({ text, usage }) })
const ask = (tool: string): ModelReply => ({
  chunks: chunksOf({ calls: [{ tool, arguments: JSON.stringify({ question: QUESTION }) }], usage }),
})

/** Says one thing when asked first, and another afterwards. */
function turns(who: Who, first: ModelReply, then: ModelReply): () => ModelReply {
  return () => (requests.filter((each) => each.who === who).length === 1 ? first : then)
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}
const json = async (response: Promise<Response>): Promise<any> => (await response).json()

describe('an expert in another Worker', () => {
  test('answers through a router unchanged, and its usage is counted', async () => {
    expect(await json(post('/runs', { input: QUESTION }))).toMatchObject({
      status: 'completed',
      finish: 'return_direct',
      answer: ADVICE,
      steps: 1,
      usage: { inputTokens: 3 * 30, outputTokens: 3 * 5 },
      calls: [{ tool: 'router', ok: true, arguments: { question: QUESTION } }],
    })
    expect(requests.map(({ who, last }) => [who, last['content']])).toEqual([
      ['edge', QUESTION],
      ['router', QUESTION],
      ['medical', QUESTION],
    ])
  })

  test('is streamed unchanged, with its inner events as progress', async () => {
    const chat = { messages: [{ role: 'user', content: QUESTION }], stream: true }
    const chunks = await readEvents(await post('/v1/chat/completions', chat))
    expect(chunks.map((chunk: any) => chunk.choices?.[0]?.delta?.content ?? '').join('')).toBe(ADVICE)

    const events = await readEvents(await post('/runs', { input: QUESTION }, { accept: 'text/event-stream' }))
    const inside = eventsIn(events)
    expect(inside.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1])).toEqual([
      ...['run.started', 'step.started', 'call.delta', 'call.proposed', 'step.answered', 'call.started'],
      ...['call.progress', 'call.settled', 'step.finished'],
    ])
    const innermost = eventsIn(inside)
    expect(innermost.flatMap(({ type, text }) => (type === 'text.delta' ? [text] : [])).join('')).toBe(ADVICE)
    expect(innermost.at(-1)).toMatchObject({ type: 'step.finished', usage })
  })

  test('that fails gives the router a failed call', async () => {
    replies.medical = () => ({ status: 400, body: { error: { message: 'The question is too long.' } } })
    replies.router = turns('router', ask('medicalExpert'), say('No expert can be asked now.'))
    expect(await json(post('/runs', { input: QUESTION }))).toMatchObject({ answer: 'No expert can be asked now.' })
    expect(requests.at(-1)).toMatchObject({
      who: 'router',
      last: { role: 'tool', content: expect.stringMatching(/^The agent "medicalExpert" failed: .*too long/) },
    })
  })
})

/** The events of a run inside another's calls. */
function eventsIn(events: readonly Record<string, any>[]): Record<string, any>[] {
  return events.flatMap(({ type, data }) => (type === 'call.progress' ? [data.event] : []))
}

describe('a call that an expert is still answering', () => {
  /** Makes the expert's model take the question and send nothing. Resolves `call` and `closed` as that happens. */
  function silence(): { readonly call: Promise<void>; readonly closed: Promise<void> } {
    const [call, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    replies.medical = () => {
      call.resolve()
      return { chunks: [], end: 'hang', onClose: closed.resolve }
    }
    return { call: call.promise, closed: closed.promise }
  }

  test('is aborted when the calling run is cancelled', async () => {
    const model = silence()
    const { id } = await json(post('/conversations', {}))
    const run = json(post(`/conversations/${id}/runs`, { input: QUESTION }))
    await model.call
    const [{ id: runId }] = await json(fetch(`${url}/conversations/${id}/runs`))
    await post(`/conversations/${id}/runs/${runId}/cancel`, {})
    expect(await run).toMatchObject({ status: 'cancelled', calls: [{ tool: 'router', ok: false }] })
    await model.closed
  })

  test('is aborted when the call times out', async () => {
    const model = silence()
    replies.edge = turns('edge', ask('router'), say('The experts take too long.'))
    const run = await json(post('/runs', { input: QUESTION, limits: { callMs: 1500 } }))
    expect(run).toMatchObject({ status: 'completed', answer: 'The experts take too long.', calls: [{ ok: false }] })
    await model.closed
  })
})

// Here, since this server passes on that a client has disconnected, once there is something to send to it.
test('a stored run ends when its client disconnects, if the client asks for that', async () => {
  const [first, second] = chunksOf({ text: 'One two' })
  const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms, second).unref())
  replies.edge = () => ({ chunks: [first, ...Array.from({ length: 100 }, (_chunk, at) => later(100 * at))] })
  const abort = new AbortController()
  const { body } = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-conversation-id': 'tied' },
    body: JSON.stringify({
      messages: [{ role: 'user', content: 'Count.' }],
      stream: true,
      edgecall: { cancelOnDisconnect: true },
    }),
    signal: abort.signal,
  })
  await body?.getReader().read()
  abort.abort()
  const runs = (): Promise<any> => json(fetch(`${url}/conversations/tied/runs`))
  await expect.poll(runs).toMatchObject([{ status: 'cancelled' }])
  const [{ id }] = await runs()
  const run = await json(fetch(`${url}/conversations/tied/runs/${id}`))
  expect(run).toMatchObject({ finish: 'cancelled', answer: expect.stringMatching(/^(One )+$/) })
})

test('an edge without the definitions Worker stores nothing and says why', async () => {
  const json = { 'content-type': 'application/json' }
  const put = await fetch(`${url}/tools/hours`, { method: 'PUT', headers: json, body: '{}' })
  expect([put.status, await put.json()]).toMatchObject([
    422,
    {
      issues: [
        { message: 'expected an edge with the part storedTools and the bindings CATALOG, TOOLS and DEFINITIONS' },
      ],
    },
  ])
  expect((await fetch(`${url}/tools/hours`, { method: 'DELETE' })).status).toBe(404)
})
