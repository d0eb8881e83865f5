import { setTimeout as sleep } from 'node:timers/promises'
import type { RunEvent } from '../../src/contract/event.ts'
import type { RunRecord } from '../../src/contract/run.ts'
import { freePort } from '../cli/command.ts'
import { join } from 'node:path'
import { type EdgeProcess, makeSite, type SiteWorker, startEdge } from '../faults/edge-process.ts'
import { chunksOf, type ModelCall, startModelServer } from '../fixtures/model-server.ts'
import { startControl } from './control.ts'
import { unpackWorker } from './releases.ts'

const PATIENCE_MS = 60_000

/** The edge with a model and tools whose answers follow rules, on real workerd with its databases on disk. */
export interface Installation {
  /** The folder with the databases. */
  readonly state: string
  /** What the tools were asked to do; a model’s held answer is `model/<word>`. */
  readonly requests: readonly string[]
  /** Starts the edge of today, or the packed one of a release, on what the one before has stored. */
  start(release?: string): Promise<void>
  /** Kills all its processes at once. */
  kill(): Promise<void>
  /** Resolves once a point has been reached. */
  until(point: string): Promise<void>
  /** Sends a body as JSON, or a text as it is. Returns the answer, or the status and the code of a failure. */
  ask(path: string, json?: unknown, options?: { method?: string; headers?: Record<string, string> }): Promise<any>
  /** Starts a run and returns its id. */
  startRun(conversation: string, input: string, body?: object): Promise<string>
  /** Asks for a run until it has a status. */
  untilStatus(conversation: string, run: string, ...statuses: readonly string[]): Promise<RunRecord>
  /** Reads the events of a run to the end of the stream. */
  events(conversation: string, run: string): Promise<RunEvent[]>
  /** What the edge last wrote. */
  output(): string
  close(): Promise<void>
}

interface InstallationOptions {
  /**
   * Which calls of tools, as `<conversation>/<tool>/<phase>`, and which answers of the model, as `model/<word>`, never
   * come. Default: none.
   */
  readonly isHeld?: (point: string) => boolean
  /** Further variables of the edge. */
  readonly vars?: Readonly<Record<string, string>>
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Makes an installation; start it, and close it at the end. */
export async function makeInstallation({
  isHeld = () => false,
  vars = {},
  headers: ownHeaders = {},
}: InstallationOptions = {}): Promise<Installation> {
  const control = await startControl(isHeld)
  let hasRefused = false
  const model = await startModelServer((call) => {
    const path = pathOfPicture(call)
    if (path === undefined || hasRefused) return answer(call, isHeld, (point) => control.note(point))
    hasRefused = true
    return { status: 400, body: { error: { message: `Invalid '${path}'.`, param: path, code: 'invalid_value' } } }
  })
  const changes = {
    services: [
      { binding: 'TOOL_RECORDED', service: 'recorded-tools' },
      { binding: 'DEFINITIONS', service: 'edgecall-definitions' },
    ],
    kv_namespaces: [{ binding: 'TOOLS' }, { binding: 'KEYS' }],
    worker_loaders: [{ binding: 'LOADER' }],
    vars: { AUTH: 'open', MODEL: 'openai/scripted', OPENAI_BASE_URL: model.baseUrl, CALL_TIMEOUT_MS: '5000', ...vars },
  }
  const main = join(import.meta.dirname, 'edge/index.ts')
  const today: SiteWorker = { name: 'edge', config: 'wrangler.toml', changes: { ...changes, main } }
  const site = makeSite([
    today,
    { name: 'tools', config: 'test/upgrades/tools/wrangler.toml', changes: { vars: { CONTROL: control.url } } },
    { name: 'definitions', config: 'tools/definitions/wrangler.toml' },
  ])
  let edge: EdgeProcess | undefined

  const releaseOf = (release: string): SiteWorker => {
    const main = join(site.folder, 'released')
    return { name: 'edge', config: unpackWorker(release, 'edge', main), changes: { ...changes, main: `${main}.js` } }
  }
  const kill = async () => {
    await edge?.kill()
    edge = undefined
  }
  const request: Installation['ask'] = async (path, json, { method, headers } = {}) => {
    const response = await fetch(`${edge?.url}${path}`, {
      method: method ?? (json === undefined ? 'GET' : 'POST'),
      headers: { 'content-type': 'application/json', ...ownHeaders, ...headers },
      ...(json !== undefined && { body: typeof json === 'string' ? json : JSON.stringify(json) }),
    })
    const text = await response.text()
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '') && text !== ''
    const body = isJson ? JSON.parse(text) : text || {}
    return response.ok ? body : { status: response.status, code: body.code }
  }
  return {
    state: site.state,
    requests: control.requests,
    until: (point) => control.until(point),
    kill,
    ask: request,
    start: async (release) => {
      site.install(release === undefined ? today : releaseOf(release))
      edge = startEdge(site, await freePort(), ownHeaders)
      await edge.ready()
    },
    startRun: async (conversation, input, body = {}) => {
      const run = await request(
        `/conversations/${conversation}/runs`,
        { input, ...body },
        { headers: { prefer: 'respond-async' } },
      )
      if (typeof run.id !== 'string') throw new Error(`${conversation}: ${JSON.stringify(run)}`)
      return run.id
    },
    untilStatus: async (conversation, run, ...statuses) => {
      for (const deadline = Date.now() + PATIENCE_MS; ;) {
        const record = await request(`/conversations/${conversation}/runs/${run}`)
        if (statuses.includes(record.status)) return record
        if (Date.now() > deadline)
          throw new Error(`${conversation}: the run is ${JSON.stringify(record)}\n${edge?.output()}`)
        await sleep(100)
      }
    },
    events: async (conversation, run) => {
      const response = await fetch(`${edge?.url}/conversations/${conversation}/runs/${run}/events`, {
        headers: ownHeaders,
      })
      const lines = (await response.text()).match(/(?<=^data: ).*$/gm) ?? []
      return lines.map((line) => JSON.parse(line))
    },
    output: () => edge?.output() ?? '',
    close: async () => {
      await kill()
      await Promise.all([model.close(), control.close()])
      site.remove()
    },
  }
}

/** A picture that the server of the model refuses once. */
export const REFUSED_PICTURE = 'UkVGVVNFRCBQSUNUVVJF'

/** Returns where a request has that picture. */
function pathOfPicture({ body }: ModelCall): string | undefined {
  const message = body.messages.findIndex((each) => JSON.stringify(each).includes(REFUSED_PICTURE))
  return message < 0 ? undefined : `messages[${message}].content[1].image_url.url`
}

/**
 * The model’s answer. The user’s last message has a word for each round: the names of tools to call, joined by `+`, or
 * a text whose end may be held back. After the last word it answers the number of messages that it read. An agent or a
 * program follows in parentheses: `clerk(pay)`, `run_code(return[await(tools.pay({}))])`.
 */
function answer({ body }: ModelCall, isHeld: (point: string) => boolean, note: (point: string) => void) {
  const last = body.messages.findLastIndex(({ role }) => role === 'user')
  const answers = body.messages.slice(last).filter(({ role }) => role === 'assistant').length
  const content = body.messages[last]?.['content']
  const text = Array.isArray(content) ? content[0].text : content
  const word = String(text).split(' ')[answers]
  const usage = { inputTokens: 10, outputTokens: 5 }
  const headers = { connection: 'close' }
  const calls = word?.split('+').map(callOf) ?? []
  const offered = new Set(body.tools?.map((tool) => tool.function.name))
  if (calls.length > 0 && calls.every(({ tool }) => offered.has(tool)))
    return { headers, chunks: chunksOf({ text: '', calls, usage }) }
  const chunks = chunksOf({ text: `Read ${body.messages.length} messages.`, usage })
  const point = `model/${word}`
  if (!isHeld(point)) return { headers, chunks }
  note(point)
  return { headers, chunks: chunks.slice(0, 2), end: 'hang' as const }
}

function callOf(word: string): { readonly tool: string; readonly arguments: string } {
  const [, tool = word, text] = /^(\w+)\((.*)\)$/.exec(word) ?? []
  const name = tool === 'run_code' ? 'code' : 'question'
  return { tool, arguments: JSON.stringify(text === undefined ? {} : { [name]: text }) }
}
