import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import type { Worker, Workers } from '../workers.ts'

/**
 * Returns in one line why the Workers do not start or build, as far as wrangler's output tells: the file, what is wrong
 * and the place. Undefined if the output is of another kind.
 */
export function explainOutput(output: string, workers: Workers): string | undefined {
  return thrown(output, [workers.edge, ...workers.tools]) ?? unbuilt(output, workers) ?? missing(workers)
}

/** A throw at module scope: workerd names the Worker. */
function thrown(output: string, workers: readonly Worker[]): string | undefined {
  const [, name, reason] = /service core:user:([\w-]+): Uncaught ([^\n]+)/.exec(output) ?? []
  if (name === undefined || reason === undefined) return undefined
  const worker = workers.find((each) => each.name === name)
  const message = reason
    .replace(/\\n.*$/, '')
    .replace(/^Error: /, '')
    .replace(/\.$/, '')
  return `${worker?.main ?? name} throws as it loads: ${message}. None of it runs until that is corrected.`
}

/** A main module that is not there. `text`: only if it names the module. */
function missing({ root, edge, tools }: Workers, text?: string): string | undefined {
  const worker = [edge, ...tools].find(
    ({ main }) => main !== '' && !existsSync(join(root, main)) && (text?.includes(main) ?? true),
  )
  return worker && `There is no ${worker.main}, which is the main module in ${worker.config}`
}

/** A build error in the output of wrangler. */
interface BuildError {
  readonly reason: string
  /** Absent if it is in no file. */
  readonly location: Location | undefined
}

interface Location {
  readonly file: string
  /** The line and the column. */
  readonly place: string
  /** The text of that line. */
  readonly text: string
}

const REASON = /\[ERROR\] (?!Build failed|service core:user:|The Workers runtime)(.+)$/
const LOCATION = /^\s+([^\s:][^:]*):(\d+:\d+):$/
/** The line of the code, with its number: `  16 │ const a = ;`. */
const CODE = /^\s*\d+ │ ?(.*)$/
/** The empty lines after a reason by which it is known that no location follows. */
const MOST_EMPTY_LINES = 2

/** Reads build errors line by line. Returns each at the line that completes it. */
function buildErrorReader(): (line: string) => BuildError | undefined {
  let reason: string | undefined
  let location: Omit<Location, 'text'> | undefined
  let emptyLines = 0
  const end = (text?: string): BuildError | undefined => {
    const error = reason === undefined ? undefined : { reason, location: location && { ...location, text: text ?? '' } }
    reason = undefined
    return error
  }
  return (line) => {
    const [, nextReason] = REASON.exec(line) ?? []
    const [, file, place] = LOCATION.exec(line) ?? []
    const [, text] = CODE.exec(line) ?? []
    if (nextReason !== undefined) {
      reason = nextReason
      location = undefined
      emptyLines = 0
    } else if (file !== undefined && place !== undefined) location = { file, place }
    else if (text !== undefined) return end(text)
    else if (line.trim() === '' && ++emptyLines === MOST_EMPTY_LINES) return end()
    return undefined
  }
}

function unbuilt(output: string, workers: Workers): string | undefined {
  const read = buildErrorReader()
  const [error] = output.split('\n').flatMap((line) => read(line) ?? [])
  return error && textOf(error, workers)
}

function textOf({ reason, location }: BuildError, workers: Workers): string {
  // The file that imports a main module is made by wrangler.
  const missingMain = reason.startsWith('Could not resolve') ? missing(workers, reason) : undefined
  if (missingMain !== undefined) return missingMain
  return location ? `${whereOf(location, workers)}: ${reason}` : reason
}

/**
 * Returns the file and the place of a build error. esbuild names the file relative to the folder of its Worker, but not
 * the Worker: it is the one whose file has that line, or the only one with a main module of that name.
 */
function whereOf({ file, place, text }: Location, { root, edge, tools }: Workers): string {
  const workers = [edge, ...tools]
  const paths = [...new Set(workers.map(({ config }) => normalize(join(dirname(config), file))))]
  const mains = paths.filter((path) => workers.some(({ main }) => main === path))
  const matches = paths.filter((path) => lineOf(join(root, path), parseInt(place)) === text.trim())
  const likely = matches.length > 0 || mains.length > 1 ? matches : mains
  return `${likely.length === 0 ? file : likely.join(' or ')}:${place}`
}

/** Returns a line of a file without the spaces around it; undefined if there is none. */
function lineOf(path: string, number: number): string | undefined {
  try {
    return readFileSync(path, 'utf8').split('\n')[number - 1]?.trim()
  } catch {
    return undefined
  }
}

export interface BlockReaders {
  /** Is told in one line what does not build. */
  readonly explain: (line: string) => void
  /** Gets all other lines. */
  readonly pass: (line: string) => void
}

/** The first lines of wrangler's blocks about Workers that do not build or start. */
const BLOCK = /\[ERROR\] (?:Build failed|service core:user:|The Workers runtime failed)/

/**
 * Returns a reader of the lines of wrangler that leaves out its blocks about Workers that do not build or start. Each error
 * of a build becomes one line. Those that do not start end the session, which explains it.
 */
export function explainBlocks(workers: Workers, { explain, pass }: BlockReaders): (line: string) => void {
  let read: ReturnType<typeof buildErrorReader> | undefined
  return (line) => {
    if (BLOCK.test(line)) read = buildErrorReader()
    else if (read && !/^(?:\s|$)/.test(line)) read = undefined
    if (!read) return pass(line)
    const error = read(line)
    if (error) explain(`${textOf(error, workers).replace(/\.$/, '')}.`)
  }
}
