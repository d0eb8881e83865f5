import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import {
  type CallStatus,
  failure,
  type ToolContext,
  type ToolDescription,
  type ToolOutcome,
  type ToolRequest,
  type ToolService,
  type ToolSuccess,
} from '../contract/tool.ts'
import { isMissingMethod } from '../host/worker/call.ts'
import {
  type Abort,
  checkConformance,
  type ConformanceOptions,
  type TestedService,
  newContext,
  type Fault,
} from './call-checks.ts'
import { copied } from './recorded-model.ts'
import type { TestHarness } from 'wrangler'

/** How a tool Worker is started for a test. */
export interface StartToolOptions {
  /** Variables and secrets of the Worker, which win over its configuration. Default: none. */
  readonly vars?: Readonly<Record<string, string>>
}

/** A tool Worker on workerd, called as an edge calls it. */
export interface RunningTool {
  readonly definitions: readonly ToolDefinition[]
  /** The Worker's own methods; of a Worker in another language, what it answers over `fetch`. */
  readonly service: TestedService
  /**
   * Calls a tool. `context` replaces parts of what tools are told beside their arguments. The outcome has no
   * `deployment`.
   */
  call(name: string, input: Readonly<Record<string, unknown>>, context?: Partial<ToolContext>): Promise<ToolOutcome>
  /**
   * Runs the checks of the tool contract. An empty list means that the Worker keeps it. `cases`: how tools are called
   * with effect; without them, only what is refused is checked.
   */
  conformance(cases?: ConformanceOptions['cases']): Promise<readonly Fault[]>
  /** Kills the Worker with all calls in flight, and starts it again on the same storage. */
  crash(): Promise<void>
  close(): Promise<void>
}

const CONFIGS = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml']
const CALLER = 'edgecall-test-caller'

/** A Worker that calls the tool Worker over a service binding, as an edge does, with a control of its own. */
const CALLER_WORKER = `export default {
  async fetch(request, { TOOL }) {
    const { method, args, abort } = await request.json()
    const stop = Promise.withResolvers()
    const timer = abort && setTimeout(stop.resolve, abort.afterMs, abort.reason)
    const control = { whenAborted: () => stop.promise, progress: async () => {} }
    try {
      return Response.json({ answer: await TOOL[method](...args, ...(method === 'call' ? [control] : [])) })
    } catch (error) {
      return Response.json({ thrown: error instanceof Error ? error.message : String(error) })
    } finally {
      clearTimeout(timer)
      stop.resolve('settled')
    }
  },
}
`

/**
 * Starts the Worker in a folder, with the configuration there. Its storage is empty, and gone when it is closed. Throws
 * an Error with wrangler's reason if the Worker does not build or start.
 *
 * @example
 * const tool = await startTool('tools/greeting')
 * await tool.call('greeting', { name: 'Ada' })
 */
export async function startTool(folder: string, { vars }: StartToolOptions = {}): Promise<RunningTool> {
  const configPath = CONFIGS.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (configPath === undefined) throw new Error(`There is no wrangler.toml in ${folder}.`)
  // Without it, each start asks the network where this machine is.
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] ??= 'false'
  const { createTestHarness, unstable_readConfig: readConfig } = await import('wrangler')
  const caller = writeCaller(String(readConfig({ config: configPath }).name))
  const harness = createTestHarness({
    workers: [{ configPath, ...(vars && { vars: { ...vars } }) }, { configPath: join(caller, 'wrangler.json') }],
  })
  const close = async () => {
    await harness.close()
    rmSync(caller, { recursive: true, force: true })
  }
  try {
    await harness.listen()
    const service = await serviceOf(harness, configPath)
    const { tools } = copied(await service.describe())
    return runningTool(service, tools, { crash: () => harness.update((options) => options), close })
  } catch (error) {
    await close()
    throw error
  }
}

function writeCaller(service: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-caller-'))
  const services = [{ binding: 'TOOL', service }]
  const config = { name: CALLER, main: 'index.js', compatibility_date: '2026-10-23', services }
  writeFileSync(join(folder, 'index.js'), CALLER_WORKER)
  writeFileSync(join(folder, 'wrangler.json'), JSON.stringify(config))
  return folder
}

/** Returns the service of the Worker, over RPC if it has the methods, else over `fetch`. */
async function serviceOf(harness: TestHarness, configPath: string): Promise<TestedService> {
  const ask = async <Answer>(method: keyof ToolService, args: readonly unknown[], abort?: Abort): Promise<Answer> => {
    const body = JSON.stringify({ method, args, abort })
    const response = await harness.getWorker(CALLER).fetch('http://caller/', { method: 'POST', body })
    const reply: { readonly answer: Answer; readonly thrown?: string } = JSON.parse(await response.text())
    if (reply.thrown !== undefined) throw new Error(reply.thrown)
    return reply.answer
  }
  const service: TestedService = {
    describe: () => ask('describe', []),
    call: (request) => ask('call', [request]),
    status: (request) => ask('status', [request]),
    undo: (request, outcome) => ask('undo', [request, outcome]),
    callAborted: (request, abort) => ask('call', [request], abort),
  }
  try {
    await service.describe()
    return service
  } catch (error) {
    if (!isMissingMethod(error)) throw error
  }
  const fetched = toolServiceAt((path, init) => harness.getWorker().fetch(path, init))
  try {
    await fetched.describe()
    return fetched
  } catch (error) {
    throw new Error(`${configPath} is not a tool Worker: it has no describe().`, { cause: error })
  }
}

function runningTool(
  service: TestedService,
  tools: readonly ToolDefinition[],
  { crash, close }: Pick<RunningTool, 'crash' | 'close'>,
): RunningTool {
  return {
    definitions: tools,
    service,
    call: async (name, input, context) => {
      const definition = tools.find((tool) => tool.name === name)
      if (!definition) return failure('unknown_tool', `There is no tool "${name}" here.`)
      const request = { name, arguments: input, hash: definition.hash, context: { ...newContext(), ...context } }
      // Here each start is a deployment of its own: a test could not expect its id.
      const { deployment: _deployment, ...outcome } = copied(await service.call(request))
      return outcome
    },
    conformance: (cases) => checkConformance(service, { cases, crash }),
    crash,
    close,
  }
}

export interface ToolHttpRequest {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly signal?: AbortSignal
}

/** Sends a request to a path of the server, such as with a token added. */
export type SendToTool = (
  path: string,
  init?: ToolHttpRequest,
) => Promise<{ readonly ok: boolean; readonly status: number; text(): Promise<string> }>

/**
 * Returns the service of a tool Worker, or of any server in any language, that answers the tool contract over HTTP:
 * `GET /describe`, and `POST` of `/call`, `/status` and `/undo`. Its methods reject for an answer that is not JSON or
 * whose status is not 2xx.
 *
 * @example
 * expect(await checkConformance(toolServiceAt('http://127.0.0.1:8000'))).toEqual([])
 */
export function toolServiceAt(url: string | SendToTool): TestedService {
  const send: SendToTool =
    typeof url === 'function' ? url : (path, init) => fetch(`${url}${path}`, { ...init, redirect: 'manual' })
  const ask = async <Answer>(path: string, init?: ToolHttpRequest): Promise<Answer> => {
    const response = await send(path, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`)
    return JSON.parse(text)
  }
  const post = <Answer>(path: string, body: unknown, signal?: AbortSignal): Promise<Answer> => {
    const headers = { 'content-type': 'application/json' }
    return ask(path, { method: 'POST', headers, body: JSON.stringify(body), signal })
  }
  return {
    describe: () => ask<ToolDescription>('/describe'),
    call: (request: ToolRequest) => post<ToolOutcome>('/call', request),
    status: (request: ToolRequest) => post<CallStatus>('/status', request),
    undo: (request: ToolRequest, outcome: ToolSuccess) => post<ToolOutcome>('/undo', { request, outcome }),
    // Over HTTP an edge that wants the outcome no more closes the connection, and nothing can be answered.
    callAborted: async (request, { afterMs }) => {
      await post('/call', request, AbortSignal.timeout(afterMs)).catch(() => {})
      return ask<ToolDescription>('/describe')
    },
  }
}
