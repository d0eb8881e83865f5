import { printText } from '../command/terminal.ts'
import { offerProblems } from '../check/descriptions.ts'
import { type DefinitionFile, putDefinition } from '../definitions.ts'
import { startDevServer } from '../dev-server.ts'
import type { EdgeAddress } from '../edge.ts'
import { writeEnvFile } from '../env-file.ts'
import { Failure } from '../failure.ts'
import { type ListedTool, listAllTools } from '../listing.ts'
import { untilReady } from '../ready.ts'
import type { Workers } from '../workers.ts'
import { explainOutput } from './explain.ts'
import type { DevEnvironment, Project } from './project.ts'
import { runLog } from './run-log.ts'

/** The Workers, ready to be asked. */
export interface Session {
  readonly project: Project
  readonly edge: EdgeAddress
  /** Aborted when the Workers end by themselves or the command is to end. */
  readonly signal: AbortSignal
  onLine(write: (line: string) => void): void
  /** Prints what of the tools has changed since they were last printed, after Workers were built again. */
  reviewTools(): Promise<void>
}

const MOST_STARTS = 3

/**
 * Starts the Workers, stores the definitions, does the work and ends the Workers. wrangler picks more ports for itself,
 * and another process may take one of them first; then it is started again, `MOST_STARTS` times in all.
 */
export async function withWorkers(
  place: DevEnvironment,
  project: Project,
  stop: AbortSignal,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const { root, env, port, stateDir, url, plan } = place
  const { workers, local } = project
  const edge = { url, key: local.key }
  const configs = [workers.edge, ...workers.tools].map((worker) => worker.config)
  printText(`Starting ${workers.edge.name} and ${workers.tools.length} tool Workers, model ${local.model}\n`)
  if (plan) printText(`They are held to the limits of Cloudflare’s ${plan === 'free' ? 'Free' : 'Paid'} plan.\n`)
  if (project.isOffline && env['OPENAI_API_KEY']) printText('MODEL is not set, so OPENAI_API_KEY is not used.\n')
  for (let starts = 1; ; starts++) {
    const envFile = writeEnvFile(local.variables)
    const server = startDevServer({ root, env, configs, port, envFile, stateDir, plan })
    const { output } = server
    // Until the log of all is shown, such as of the variables of the edge.
    if (plan) output.onLine(limitPrinter())
    const ended = new AbortController()
    void server.ended.then(() => ended.abort(failureOf(output.lastLines(), workers)))
    const signal = AbortSignal.any([stop, ended.signal])
    let isReady = false
    try {
      const silent = await untilReady(edge, { output, signal, onSlow: (message) => printText(`${message}\n`) })
      isReady = true
      server.noteProcesses()
      await storeAll(edge, project.definitions, signal)
      const printTools = toolPrinter(edge, workers, signal)
      await printTools(silent)
      return await work({ project, edge, signal, onLine: (write) => output.onLine(write), reviewTools: printTools })
    } catch (error) {
      stop.throwIfAborted()
      if (isReady || !output.lastLines().includes('Address already in use') || starts >= MOST_STARTS) {
        throw explained(error, output.lastLines(), workers)
      }
    } finally {
      await server.stop()
      envFile.remove()
    }
  }
}

/** Returns a reader of lines that prints which limits of the platform are passed. */
function limitPrinter(): (line: string) => void {
  const log = runLog(printText)
  return (line) => {
    if (line.includes('"event":"platform.limit"')) log(line)
  }
}

function failureOf(output: string, workers: Workers): Failure {
  const line = explainOutput(output, workers)
  return line === undefined ? new Failure('wrangler has ended. It wrote last:', output) : new Failure(line)
}

/** Replaces a failure that wrangler's output explains by the one line of it that matters. */
function explained(error: unknown, output: string, workers: Workers): unknown {
  const line = error instanceof Failure ? explainOutput(output, workers) : undefined
  return line === undefined ? error : new Failure(line)
}

/** Stores the definitions; prints which are refused, and why. */
export async function storeAll(
  edge: EdgeAddress,
  definitions: readonly DefinitionFile[],
  signal: AbortSignal,
): Promise<void> {
  for (const definition of definitions) {
    await putDefinition(edge, definition, signal).catch((error: unknown) => {
      signal.throwIfAborted()
      if (!(error instanceof Failure)) throw error
      printText(`${error.message}\n`)
    })
  }
}

/**
 * Returns a function that prints how many tools there are, and each that is not available or that models choose badly, with
 * the file and the reason; later, only what has changed. It takes the tool Workers that do not say what they offer.
 */
function toolPrinter(
  edge: EdgeAddress,
  workers: Workers,
  signal: AbortSignal,
): (silent?: readonly ListedTool[]) => Promise<void> {
  let last: ReadonlySet<string> = new Set()
  return async (silent = []) => {
    const lines = toolLines(await listAllTools(edge, signal), workers, silent)
    const changes = lines.filter((line) => !last.has(line))
    last = new Set(lines)
    if (changes.length > 0) printText(`${changes.join('\n')}\n\n`)
  }
}

function toolLines(tools: readonly ListedTool[], workers: Workers, silent: readonly ListedTool[]): readonly string[] {
  const offered = tools.filter(({ available }) => available)
  const places = new Set(offered.map(({ place }) => place))
  const unavailable = tools.filter(({ available }) => !available)
  const reportedBindings = new Set([...silent, ...unavailable].map(({ place }) => place))
  const empty = [...workers.edge.tools.keys()].filter(
    (binding) => !places.has(binding) && !reportedBindings.has(binding),
  )
  const but = empty.length === 0 ? '' : `; none from ${empty.join(', ')}`
  const mainOf = (place: string) => {
    const service = workers.edge.tools.get(place)
    return workers.tools.find((worker) => worker.name === service)?.main
  }
  const texts = offered.map(({ name, place, description = '', inputSchema = {}, hash = '' }) => ({
    file: mainOf(place) ?? place,
    tool: { name, description, inputSchema, hash },
  }))
  return [
    ...unavailable.map(({ name, place, reason = 'not available' }) => {
      const main = mainOf(place)
      return `Not available: ${name}${main === undefined ? '' : ` (${main})`}: ${reason}`
    }),
    ...offerProblems(texts).map(({ file, message, remedy }) => `${file}: ${message} ${remedy}`),
    `Ready: ${offered.length} tools${but}`,
  ]
}
