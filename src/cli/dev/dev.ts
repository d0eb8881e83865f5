import { resolve } from 'node:path'
import { shellCommand } from '../command/shell.ts'
import { askQuestion } from '../ask.ts'
import { hostsOf } from '../definitions.ts'
import { Failure } from '../failure.ts'
import { listAllTools } from '../listing.ts'
import { type OfflineServer, startOffline } from '../offline.ts'
import { checkFree, readPort } from '../port.ts'
import { runPrinter } from '../print.ts'
import { newKey } from '../variables.ts'
import { findWorkers, type Workers } from '../workers.ts'
import { type Changes, projectChanges } from './changes.ts'
import { orPrint, type DevEnvironment, type Project, readProject, readReadable } from './project.ts'
import { exampleQuestion } from './example.ts'
import { explainBlocks } from './explain.ts'
import { runLog } from './run-log.ts'
import { type Session, storeAll, withWorkers } from './session.ts'
import { serveForever, type Stage } from './serve.ts'
import { claimState, STATE_DIR } from './state.ts'

export interface DevOptions {
  /** The repository's folder. */
  readonly root: string
  /** Provides PORT, STATE_DIR and the edge's variables. */
  readonly env: NodeJS.ProcessEnv
  /** Ends the edge. */
  readonly signal: AbortSignal
  /** A question to ask before ending, instead of asking the example and serving. */
  readonly ask?: string | undefined
}

/**
 * Runs the edge and every tool Worker on this machine, and stores the repository's definitions. With a question: asks
 * it, prints the run and ends. Without: serves until the signal aborts, and follows changes of the files, also of those
 * that keep the Workers from starting. When the promise settles, every process that this function started has ended.
 * Throws a Failure if the project cannot be read, and Stopped when the signal aborts.
 */
export async function dev({ root, env, signal, ask: question }: DevOptions): Promise<void> {
  const port = readPort(env['PORT'])
  const stateDir = env['STATE_DIR'] ?? STATE_DIR
  const place: DevEnvironment = { root, env, port, stateDir, url: `http://127.0.0.1:${port}`, key: newKey() }
  let offline: OfflineServer | undefined
  const offlineUrl = async () => (offline ??= await startOffline()).baseUrl
  const end = new AbortController()
  try {
    // What changes from here on is not in the project that is read.
    const changes = projectChanges(root, resolve(root, stateDir), end.signal)
    const first = await readProject(place, offlineUrl)
    await checkFree(port)
    const release = claimState(root, stateDir, place)
    end.signal.addEventListener('abort', release, { once: true })
    if (question === undefined) await serveProject(place, { first, changes, offlineUrl, signal })
    else {
      await withWorkers(place, first, signal, async (session) => {
        print(`> ${question}\n`)
        await askAndPrint(session, question)
      })
    }
  } finally {
    end.abort()
    offline?.close()
  }
}

interface ServeOptions {
  readonly first: Project
  /** The changes since it was read. */
  readonly changes: Changes
  readonly offlineUrl: () => Promise<string>
  readonly signal: AbortSignal
}

/** Serves, and restarts the Workers after changes that wrangler does not follow, until the signal aborts. */
async function serveProject(
  place: DevEnvironment,
  { first, changes, offlineUrl, signal }: ServeOptions,
): Promise<void> {
  let project: Project | undefined = first
  let isFirst = true
  const stage: Stage<Session> = {
    play: async ({ signal, work }) => {
      const current = project ?? (await readProject(place, offlineUrl))
      project = undefined
      await withWorkers(place, current, signal, work)
    },
    serve: async (session) => {
      await present(session, isFirst)
      isFirst = false
      await followChanges(session, changes)
    },
    print,
  }
  await serveForever(stage, changes, signal)
}

/** Prints what there is, asks the example where that is free, and prints how to call the edge. */
async function present(session: Session, isFirst: boolean): Promise<void> {
  const { edge, project, signal } = session
  const example = exampleQuestion(await listAllTools(edge, signal))
  if (isFirst && project.isOffline && example.isFree) {
    print(`> ${example.text}\n`)
    // The command continues whatever the outcome of the example is.
    await askAndPrint(session, example.text).catch((error: unknown) => {
      signal.throwIfAborted()
      if (!(error instanceof Failure)) throw error
      print(`${error.message}\n`)
    })
  }
  const { url, key } = edge
  const auth = key === undefined ? '' : ` -H 'authorization: Bearer ${key}'`
  const body = JSON.stringify({ input: example.text })
  print(`
Serving ${url} until Ctrl-C${key === undefined ? '' : `, to the key ${key}`}. Open that page, or ask:

  ${shellCommand(`ask "${example.text}"`)}
  curl ${url}/runs -H 'content-type: application/json'${auth} -d '${body}'

`)
  session.onLine(
    explainBlocks(project.workers, {
      explain: (line) => print(`${line} The version before it runs on.\n`),
      pass: runLog(print),
    }),
  )
}

/** Returns once the Workers must be restarted. Throws a Failure if they end by themselves. */
async function followChanges(session: Session, changes: Changes): Promise<void> {
  const { project, edge, signal } = session
  for (;;) {
    const fileChanges = await changes.next(signal)
    const now = fileChanges.has('setup') ? undefined : orPrint(() => findWorkers(project.workers.root))
    if (!now || shapeOf(now) !== shapeOf(project.workers)) return
    if (fileChanges.has('definitions')) {
      const { root } = project.workers
      const definitions = readReadable(root)
      // Their hosts are a variable of the edge.
      if (JSON.stringify(hostsOf(definitions)) !== JSON.stringify(hostsOf(project.definitions))) return
      await storeAll(edge, definitions, signal)
      print(`Stored ${definitions.map(({ name }) => name).join(', ')}\n`)
    }
  }
}

function shapeOf({ edge, tools }: Workers): string {
  return JSON.stringify([edge, ...tools].map(({ config }) => config))
}

/** Asks a question and prints the run. */
async function askAndPrint({ edge, project, signal }: Session, question: string): Promise<void> {
  const { workers } = project
  const tools = await listAllTools(edge, signal)
  const origins = new Map(tools.map(({ name, source, place }) => [name, workers.edge.tools.get(place) ?? source]))
  const onEvent = runPrinter({ write: print, origin: (tool) => origins.get(tool) ?? workers.edge.name })
  await askQuestion(edge, question, { onEvent, signal })
}

function print(text: string): void {
  process.stdout.write(text)
}
