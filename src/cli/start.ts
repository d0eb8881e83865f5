import { once } from 'node:events'
import { ask } from './ask.ts'
import { hostsOf, putDefinitions, readDefinitions } from './definitions.ts'
import { startDevServer, type DevServer } from './dev-server.ts'
import type { EdgeAddress } from './edge.ts'
import { writeEnvFile } from './env-file.ts'
import { Failure, Stopped } from './failure.ts'
import { listTools } from './listing.ts'
import { startOffline } from './offline.ts'
import { checkFree, readPort } from './port.ts'
import { runPrinter } from './print.ts'
import { untilReady } from './ready.ts'
import { localEdge, namesNoModel, readSetup } from './variables.ts'
import { findWorkers, unbound, type Workers } from './workers.ts'

export interface StartOptions {
  /** The repository's folder. */
  readonly root: string
  /** Provides PORT, STATE_DIR and the edge's variables. */
  readonly env: NodeJS.ProcessEnv
  /** Ends the edge. */
  readonly signal: AbortSignal
  /** A question to ask before ending, instead of asking the example and serving. */
  readonly ask?: string | undefined
}

const STATE_DIR = '.wrangler/state'
const EXAMPLE = 'What time is it in Tokyo?'

/**
 * Starts the edge and every tool Worker on this machine, stores the repository's definitions, asks a question, prints
 * the run and serves until a signal arrives. When the promise settles, every process that this function started has
 * ended. Throws a Failure with the reason, and Stopped if a signal arrives before its work is done.
 */
export async function start({ root, env, signal, ask: question }: StartOptions): Promise<void> {
  const workers = findWorkers(root)
  const loose = unbound(workers)
  const definitions = readDefinitions(root)
  const { vars } = workers.edge
  const port = readPort(env['PORT'])
  await checkFree(port)
  const offline = namesNoModel(env, vars) ? await startOffline() : undefined
  const hosts = hostsOf(definitions)
  const local = await localEdge(env, { vars, hosts, setup: readSetup(root), offlineUrl: offline?.baseUrl })
  const stop = new AbortController()
  signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true })
  const envFile = writeEnvFile(local.variables)
  try {
    print(`Starting ${workers.edge.name} and ${workers.tools.length} tool Workers, model ${local.model}\n`)
    if (offline && env['OPENAI_API_KEY']) print('MODEL is not set, so OPENAI_API_KEY is not used.\n')
    if (loose.length > 0) print(`Not bound in wrangler.toml, so not used: ${loose.join(', ')}\n`)
    const configs = [workers.edge, ...workers.tools].map((worker) => worker.config)
    const stateDir = env['STATE_DIR'] ?? STATE_DIR
    const edge = { url: `http://127.0.0.1:${port}`, key: local.key }
    const begin = () => startDevServer({ root, env, configs, port, envFile, stateDir })
    const server = await startReady(begin, { edge, signal: stop.signal })
    void server.ended.then(() =>
      stop.abort(new Failure('wrangler has ended. It said last:', server.output.lastLines())),
    )
    try {
      await putDefinitions(edge, definitions, stop.signal)
      await demonstrate(edge, question ?? EXAMPLE, { workers, signal: stop.signal })
      if (question === undefined) await serve(edge, server, stop.signal)
    } finally {
      await server.stop()
    }
  } finally {
    envFile.remove()
    offline?.close()
  }
}

const MOST_STARTS = 3

/**
 * Starts a server and waits until it is ready. wrangler picks more ports for itself, and another process may take one
 * of them first; then the server is started again, `MOST_STARTS` times in all.
 */
async function startReady(
  begin: () => DevServer,
  { edge, signal }: { readonly edge: EdgeAddress; readonly signal: AbortSignal },
): Promise<DevServer> {
  for (let starts = 1; ; starts++) {
    const server = begin()
    const ended = new AbortController()
    void server.ended.then(() =>
      ended.abort(new Failure('wrangler has ended. It said last:', server.output.lastLines())),
    )
    try {
      await untilReady(edge, { output: server.output, signal: AbortSignal.any([signal, ended.signal]) })
      server.noteProcesses()
      return server
    } catch (error) {
      await server.stop()
      const isCollision = server.output.lastLines().includes('Address already in use')
      if (signal.aborted || !isCollision || starts >= MOST_STARTS) throw error
    }
  }
}

/** Asks a question and prints the run. */
async function demonstrate(
  edge: EdgeAddress,
  question: string,
  { workers, signal }: { readonly workers: Workers; readonly signal: AbortSignal },
): Promise<void> {
  const tools = await listTools(edge, signal)
  const places = new Set(tools.map(({ place }) => place))
  const silent = [...workers.edge.tools.keys()].filter((binding) => !places.has(binding))
  const but = silent.length === 0 ? '' : `; none from ${silent.join(', ')}`
  print(`Ready: ${tools.filter((tool) => tool.available).length} tools${but}\n\n> ${question}\n`)
  const origins = new Map(tools.map(({ name, source, place }) => [name, workers.edge.tools.get(place) ?? source]))
  const onEvent = runPrinter({ write: print, origin: (tool) => origins.get(tool) ?? workers.edge.name })
  await ask(edge, question, { onEvent, signal })
}

/** Prints how to call the edge, and shows the Workers' logs until a signal arrives. */
async function serve({ url, key }: EdgeAddress, server: DevServer, signal: AbortSignal): Promise<void> {
  const auth = key === undefined ? '' : ` -H 'authorization: Bearer ${key}'`
  const body = JSON.stringify({ input: EXAMPLE })
  print(`
Serving ${url} until Ctrl-C${key === undefined ? '' : `, to the key ${key}`}. Ask it:

  curl ${url}/runs -H 'content-type: application/json'${auth} -d '${body}'

`)
  server.output.onLine((line) => print(`${line}\n`))
  if (!signal.aborted) await once(signal, 'abort')
  if (!(signal.reason instanceof Stopped)) throw signal.reason
}

function print(text: string): void {
  process.stdout.write(text)
}
