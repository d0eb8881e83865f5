import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { ToolOutcome, ToolRequest } from '../contract/tool.ts'
import { startLoopbackServer, sendJson } from './loopback.ts'

/**
 * What becomes of a call. `answer`: it has its effect and is answered. `throw`: the Worker throws before the effect.
 * `crash`: it has its effect, then the Worker is lost without an answer. `hang`: no effect and no answer. `lateMs`: the
 * answer comes so many milliseconds later. `bytes`: the answer is a text of that length. `twice`: the body holds two
 * answers. `garbage`: the answer is not an outcome.
 */
export type InjectedFault =
  | ('answer' | 'throw' | 'crash' | 'hang' | 'twice' | 'garbage')
  | { readonly lateMs: number }
  | { readonly bytes: number }

export interface FaultyToolOptions {
  /** The tools that it describes: a name, and what else of a definition matters to the test. */
  readonly tools: readonly (Pick<ToolDefinition, 'name'> & Partial<ToolDefinition>)[]
  /** What becomes of each call, in order; later ones are answered. Or a function that decides. */
  readonly faults?: readonly InjectedFault[] | ((request: ToolRequest, index: number) => InjectedFault)
  /** The outcome of a call that has its effect. Default: the text `done`. */
  readonly perform?: (request: ToolRequest) => ToolOutcome
  /** The name of its Worker. Default: `faulty-tool`. */
  readonly name?: string
}

export interface FaultyTool {
  /** A Worker for wrangler's test harness that passes everything on to the tool; bind it to the edge by its name. */
  readonly worker: { readonly configPath: string }
  /** All calls, in order. */
  readonly calls: readonly ToolRequest[]
  /** The calls that had their effect, in order. */
  readonly effects: readonly ToolRequest[]
  close(): Promise<void>
}

const WORKER = `export default {
  fetch: (request, { ORIGIN }) => fetch(ORIGIN + new URL(request.url).pathname, request),
}
`

/**
 * Starts a tool Worker that fails as a test wants it to, to see what an edge makes of it. Close it at the end.
 *
 * @example
 * const tool = await startFaultyTool({ tools: [{ name: 'pay' }], faults: ['crash', 'answer'] })
 * const workers = [{ configPath: 'wrangler.toml', bindingOverrides: { TOOL_PAY: 'faulty-tool' } }, tool.worker]
 */
export async function startFaultyTool({
  tools,
  faults = [],
  perform = () => ({ ok: true, content: [{ type: 'text', text: 'done' }] }),
  name = 'faulty-tool',
}: FaultyToolOptions): Promise<FaultyTool> {
  const calls: ToolRequest[] = []
  const effects: ToolRequest[] = []
  const faultOf = (request: ToolRequest, index: number) =>
    (typeof faults === 'function' ? faults(request, index) : faults[index]) ?? 'answer'
  const server = await startLoopbackServer(async (request, response) => {
    if (request.url === '/describe') return sendJson(response, { contract: 1, tools: tools.map(definitionOf) })
    if (request.url !== '/call') return sendJson(response, 'unknown', 200)
    const call: ToolRequest = JSON.parse(await text(request))
    calls.push(call)
    const fault = faultOf(call, calls.length - 1)
    if (fault === 'hang') return
    if (fault === 'throw') return sendJson(response, {}, 500)
    effects.push(call)
    await answer(response, fault, perform(call))
  })
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-faulty-'))
  const configPath = join(folder, 'wrangler.json')
  writeFileSync(join(folder, 'index.js'), WORKER)
  const config = { name, main: 'index.js', compatibility_date: '2026-10-23', vars: { ORIGIN: server.url } }
  writeFileSync(configPath, JSON.stringify(config))
  return {
    worker: { configPath },
    calls,
    effects,
    close: async () => {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function answer(
  response: ServerResponse,
  fault: Exclude<InjectedFault, 'hang' | 'throw'>,
  outcome: ToolOutcome,
): Promise<void> {
  if (fault === 'crash') return void response.destroy()
  if (fault === 'garbage') return sendJson(response, { done: true })
  if (fault === 'twice') {
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
    return void response.end(JSON.stringify(outcome).repeat(2))
  }
  if (typeof fault === 'object' && 'bytes' in fault)
    return sendJson(response, { ok: true, content: [{ type: 'text', text: 'x'.repeat(fault.bytes) }] })
  if (typeof fault === 'object') await sleep(fault.lateMs)
  sendJson(response, outcome)
}

function definitionOf({ name, ...rest }: FaultyToolOptions['tools'][number]): ToolDefinition {
  return {
    name,
    description: `Does “${name}” for a test.`,
    inputSchema: { type: 'object' },
    version: '1',
    hash: `hash-of-${name}`,
    annotations: {},
    ...rest,
  }
}
