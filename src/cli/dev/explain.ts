import { dirname, join, normalize } from 'node:path'
import type { Worker, Workers } from '../workers.ts'

/**
 * Returns in one line why the Workers do not start or build, as far as wrangler's output tells: the file, what is wrong
 * and the place. Undefined if the output is of another kind.
 */
export function explainOutput(output: string, { edge, tools }: Workers): string | undefined {
  const all = [edge, ...tools]
  return thrown(output, all) ?? unbuilt(output, all)
}

/** A throw at module scope: workerd names the Worker. */
function thrown(output: string, workers: readonly Worker[]): string | undefined {
  const [, name, reason] = /service core:user:([\w-]+): Uncaught ([^\n]+)/.exec(output) ?? []
  if (name === undefined || reason === undefined) return undefined
  const worker = workers.find((each) => each.name === name)
  const message = reason.replace(/\\n.*$/, '').replace(/^Error: /, '')
  return `${worker?.main ?? name} throws as it loads: ${message}. None of it runs until that is corrected.`
}

/** A build error: esbuild names the file relative to the folder of its Worker, but not the Worker. */
function unbuilt(output: string, workers: readonly Worker[]): string | undefined {
  const [, reason, file, place] =
    /\[ERROR\] (?!Build failed)([^\n]+)\n(?:[ \t]*\n)+[ \t]+([^\s:][^:\n]*):(\d+:\d+):/.exec(output) ?? []
  if (reason === undefined || file === undefined || place === undefined) return undefined
  const paths = workers.map(({ config }) => normalize(join(dirname(config), file)))
  // A file named from its Worker's folder is in several only if its name is, such as index.ts.
  const workerPaths = new Set(paths.filter((path) => workers.some(({ main }) => main === path)))
  const where = workerPaths.size === 1 ? [...workerPaths].join('') : file
  return `${where}:${place}: ${reason}`
}
