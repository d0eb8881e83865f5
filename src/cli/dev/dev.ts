import { printText } from '../command/terminal.ts'
import { relative, resolve } from 'node:path'
import { askQuestion } from '../ask.ts'
import { shellCommand } from '../command/shell.ts'
import { hostsOf } from '../definitions.ts'
import { explainBlocks } from './explain.ts'
import { type DevEnvironment, orPrint, type Project, readProject, readReadable } from './project.ts'
import { runLog } from './run-log.ts'
import { type Session, storeAll, withWorkers } from './session.ts'
import { claimState, STATE_DIR } from './state.ts'
import { isForeign, watchFolder } from './watch.ts'
import { DEV_CONFIG } from '../dev-server.ts'
import { Failure } from '../failure.ts'
import { listAllTools, type ListedTool } from '../listing.ts'
import { type OfflineServer, startOffline } from '../offline.ts'
import { checkFree, readPort } from '../port.ts'
import { runPrinter } from '../print.ts'
import { newKey } from '../variables.ts'
import { findWorkers, type Workers } from '../workers.ts'
import { isObject } from '../../contract/json.ts'
import type { WorkersPlan } from '../../contract/platform.ts'

export interface DevOptions {
  /** The repository's folder. */
  readonly root: string
  /** Provides PORT, STATE_DIR and the edge's variables. */
  readonly env: NodeJS.ProcessEnv
  /** Ends the edge. */
  readonly signal: AbortSignal
  /** The plan of Cloudflare to whose limits the Workers are held. Default: none. */
  readonly plan?: WorkersPlan | undefined
  /** A question to ask before ending, instead of asking the example and serving. */
  readonly ask?: string | undefined
}

/**
 * Runs the edge and every tool Worker on this machine, and stores the repository's definitions. With a question: asks
 * it, prints the run and ends. Without: serves until the signal aborts, and follows changes of the files, also of those
 * that keep the Workers from starting. When the promise settles, every process that this function started has ended.
 * Throws a Failure if the project cannot be read, and Stopped when the signal aborts.
 */
export async function dev({ root, env, signal, plan, ask: question }: DevOptions): Promise<void> {
  const port = readPort(env['PORT'])
  const stateDir = env['STATE_DIR'] ?? STATE_DIR
  const url = `http://127.0.0.1:${port}`
  const place: DevEnvironment = { root, env, port, stateDir, url, key: newKey(), plan }
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
        printText(`> ${question}\n`)
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
    print: printText,
  }
  await serveForever(stage, changes, signal)
}

/** Prints what there is, asks the example where that is free, and prints how to call the edge. */
async function present(session: Session, isFirst: boolean): Promise<void> {
  const { edge, project, signal } = session
  const example = exampleQuestion(await listAllTools(edge, signal))
  if (isFirst && project.isOffline && example.isFree) {
    printText(`> ${example.text}\n`)
    // The command continues whatever the outcome of the example is.
    await askAndPrint(session, example.text).catch((error: unknown) => {
      signal.throwIfAborted()
      if (!(error instanceof Failure)) throw error
      printText(`${error.message}\n`)
    })
  }
  const { url, key } = edge
  const auth = key === undefined ? '' : ` -H 'authorization: Bearer ${key}'`
  const body = JSON.stringify({ input: example.text })
  printText(`
Serving ${url} until Ctrl-C${key === undefined ? '' : `, to the key ${key}`}. Open that page, or ask:

  ${shellCommand(`ask "${example.text}"`)}
  curl ${url}/runs -H 'content-type: application/json'${auth} -d '${body}'

`)
  const log = runLog(printText)
  session.onLine(
    explainBlocks(project.workers, {
      explain: (line) => printText(`${line} The version before it runs on.\n`),
      pass: (line) => {
        log(line)
        // An edge that does not answer is being built again: its next line comes.
        if (line.includes(RELOADED)) session.reviewTools().catch(() => {})
      },
    }),
  )
}

/** What wrangler writes when Workers that were built again serve. */
const RELOADED = 'Local server updated and ready'

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
      printText(`Stored ${definitions.map(({ name }) => name).join(', ')}\n`)
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
  const onEvent = runPrinter({ write: printText, origin: (tool) => origins.get(tool) ?? workers.edge.name })
  await askQuestion(edge, question, { onEvent, signal })
}

const TIME = 'What time is it in Tokyo?'

/** A question to show how an edge answers. */
export interface ExampleQuestion {
  readonly text: string
  /** Whether the tool that answers it has no effects, so that it can be asked without being told to. */
  readonly isFree: boolean
}

/**
 * Returns a question that the tools that an edge offers can answer: the time if a tool tells it, else what the first
 * tool is for, with an example for each argument that it requires.
 */
export function exampleQuestion(tools: readonly ListedTool[]): ExampleQuestion {
  const offered = tools.filter((tool) => tool.available && tool.offered !== false)
  if (offered.some(({ name }) => /time/i.test(name))) return { text: TIME, isFree: true }
  const [first] = offered
  if (!first) return { text: 'What can you do?', isFree: false }
  const { name, inputSchema, annotations } = first
  const { properties, required } = isObject(inputSchema) ? inputSchema : {}
  const schemas = isObject(properties) ? properties : {}
  const parts = (Array.isArray(required) ? required : []).map((each) => {
    const schema = schemas[String(each)]
    return `${wordsOf(String(each))} ${exampleValue(isObject(schema) ? schema : {})}`
  })
  const words = wordsOf(name)
  const text = `${words.slice(0, 1).toUpperCase()}${words.slice(1)}${parts.length > 0 ? ` with ${parts.join(' and ')}` : ''}`
  return { text, isFree: annotations?.readOnly === true }
}

function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .toLowerCase()
    .trim()
}

/** Returns an example that the schema names, or else any value of its type. */
function exampleValue({ examples, enum: values, description, type }: Readonly<Record<string, unknown>>): string {
  for (const list of [examples, values]) if (Array.isArray(list) && list.length > 0) return String(list[0])
  const text = typeof description === 'string' ? description : ''
  const [, inQuotes, word] = /\bsuch as (?:"([^"]+)"|([^\s,;.)"]+))/.exec(text) ?? []
  const example = inQuotes ?? word
  if (example !== undefined) return example
  if (type === 'number' || type === 'integer') return '2'
  return type === 'boolean' ? 'true' : 'example'
}

/** How the Workers of a project are started. */
export interface Stage<Session> {
  /**
   * Starts the Workers as the files are now, does the work once they are ready, and ends them. Throws a Failure if they
   * cannot start or end by themselves, and the reason of the signal if that aborts.
   */
  readonly play: (options: PlayOptions<Session>) => Promise<void>
  /** What is done while they serve. Resolves when they must be started again. */
  readonly serve: (session: Session) => Promise<void>
  readonly print: (text: string) => void
}

export interface PlayOptions<Session> {
  readonly signal: AbortSignal
  readonly work: (session: Session) => Promise<void>
}

/** The changes for which Workers that are being started are started again, since they may have read the file already. */
const OF_WORKERS: readonly FileChange[] = ['setup', 'definitions', 'code']

/** The reason why a start is given up: the files are not what they were. */
const OUTDATED = new Error('The files have changed.')

/**
 * Serves a project until the signal aborts. It is always in one of three states, and a change of a file leaves each of
 * them: Workers that start are started again, those that serve follow it or are started again, and after a failure, when
 * nothing runs, they are started.
 */
export async function serveForever<Session>(
  stage: Stage<Session>,
  changes: Changes,
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    try {
      await startAndServe(stage, changes, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error === OUTDATED) changes.clear()
      else await failed(error, { stage, changes, signal })
    }
    stage.print('\nRestarting, since the files have changed\n')
  }
}

async function startAndServe<Session>(
  { play, serve }: Stage<Session>,
  changes: Changes,
  signal: AbortSignal,
): Promise<void> {
  const outdated = new AbortController()
  const ready = new AbortController()
  const untilReady = AbortSignal.any([signal, ready.signal])
  const start = play({
    signal: AbortSignal.any([signal, outdated.signal]),
    work: async (session) => {
      ready.abort()
      await serve(session)
    },
  })
  changes.arrival(OF_WORKERS, untilReady).then(
    () => outdated.abort(OUTDATED),
    () => {},
  )
  try {
    await start
  } finally {
    ready.abort()
  }
}

interface FailedOptions {
  readonly stage: Pick<Stage<unknown>, 'print'>
  readonly changes: Changes
  readonly signal: AbortSignal
}

/** Prints a Failure, and waits for the change of any file. Throws any other error. */
async function failed(error: unknown, { stage, changes, signal }: FailedOptions): Promise<void> {
  if (!(error instanceof Failure)) throw error
  const hint = error.hint === '' ? '' : `${error.hint}\n`
  stage.print(`${error.message}\n${hint}Waiting for a change of the files…\n`)
  await changes.next(signal)
}

/**
 * What a changed file is: `setup` needs a new start, `definitions` are stored again, `code` is followed by wrangler.
 * Anything else may still be what a Worker that does not start waits for.
 */
export type FileChange = 'setup' | 'definitions' | 'code' | 'other'

/** Collects changes of files until they are asked for. */
export class Changes {
  #pendingChanges = new Set<FileChange>()
  #arrival = Promise.withResolvers<void>()

  add(changes: Iterable<FileChange>): void {
    for (const change of changes) this.#pendingChanges.add(change)
    this.#arrival.resolve()
    this.#arrival = Promise.withResolvers()
  }

  clear(): void {
    this.#pendingChanges.clear()
  }

  /** Resolves with the changes since the last call, as soon as there are any. Throws the reason of the signal. */
  async next(signal: AbortSignal): Promise<ReadonlySet<FileChange>> {
    await this.#until(() => this.#pendingChanges.size > 0, signal)
    const changes = this.#pendingChanges
    this.#pendingChanges = new Set()
    return changes
  }

  /** Resolves as soon as there is a change of these kinds, which `next` still returns. Throws the reason of the signal. */
  async arrival(kinds: readonly FileChange[], signal: AbortSignal): Promise<void> {
    await this.#until(() => kinds.some((kind) => this.#pendingChanges.has(kind)), signal)
  }

  async #until(isThere: () => boolean, signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>()
    const onAbort = () => aborted.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      signal.throwIfAborted()
      while (!isThere()) {
        await Promise.race([this.#arrival.promise, aborted.promise])
        signal.throwIfAborted()
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

/** Collects the changes of a project's files until the signal aborts. `stateDir`: where the edge stores its data. */
export function projectChanges(root: string, stateDir: string, signal: AbortSignal): Changes {
  const changes = new Changes()
  const state = relative(root, stateDir).replaceAll('\\', '/')
  const ignores = (folder: string) => folder === state || isForeign(folder)
  const onChange = (paths: ReadonlySet<string>) =>
    changes.add([...paths].filter((path) => !DEV_CONFIG.test(path)).map(changeOf))
  watchFolder(root, onChange, { ignores, signal })
  return changes
}

function changeOf(path: string): FileChange {
  if (/(?:^|\/)(?:wrangler\.(?:toml|jsonc?)|\.dev\.vars|\.env)$/.test(path)) return 'setup'
  if (/^tools\/definitions\/[^/]+\.(?:json|js)$/.test(path)) return 'definitions'
  return /^(?:src|tools)\/.*\.[cm]?[jt]sx?$/.test(path) ? 'code' : 'other'
}
