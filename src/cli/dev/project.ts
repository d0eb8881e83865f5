import type { WorkersPlan } from '../../contract/platform.ts'
import { printText } from '../command/terminal.ts'
import { type DefinitionFile, definitionFiles, hostsOf, readDefinition } from '../definitions.ts'
import { Failure } from '../failure.ts'
import { type LocalEdge, localEdge, namesNoModel, readDevVars, readSetup } from '../variables.ts'
import { findWorkers, looseBindings, unbound, type Workers } from '../workers.ts'

/** What stays the same however often the Workers are restarted. */
export interface DevEnvironment {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly port: number
  readonly stateDir: string
  readonly url: string
  /** The key for requests of this command, if the edge requires keys. */
  readonly key: string
  /** The plan of Cloudflare to whose limits the Workers are held. Default: none. */
  readonly plan?: WorkersPlan | undefined
}

/** The project as its files are now. */
export interface Project {
  readonly workers: Workers
  readonly definitions: readonly DefinitionFile[]
  readonly local: LocalEdge
  readonly isOffline: boolean
}

/** Reads the project. Throws a Failure for what keeps all of it from starting. */
export async function readProject(
  { root, env, key }: DevEnvironment,
  offlineUrl: () => Promise<string>,
): Promise<Project> {
  const workers = findWorkers(root)
  for (const line of warningsOf(workers)) printText(`${line}\n`)
  const definitions = readReadable(root)
  const devVars = readDevVars(root)
  const { vars } = workers.edge
  const isOffline = namesNoModel({ ...devVars, ...env }, vars)
  const options = { vars, devVars, hosts: hostsOf(definitions), setup: readSetup(root), key }
  const local = await localEdge(env, { ...options, offlineUrl: isOffline ? await offlineUrl() : undefined })
  return { workers, definitions, local, isOffline }
}

/** Returns what is probably a mistake in the bindings, one line each. */
function warningsOf(workers: Workers): readonly string[] {
  const loose = unbound(workers)
  const { config } = workers.edge
  return [
    ...(loose.length > 0 ? [`Not bound in ${config}, so not used: ${loose.join(', ')}`] : []),
    ...looseBindings(workers).map(
      ([binding, service]) =>
        `${config} binds ${service} as ${binding}, so the edge does not find its tools: name it TOOL_${binding}.`,
    ),
  ]
}

/** Reads the definitions; prints which cannot be read, and why. */
export function readReadable(root: string): readonly DefinitionFile[] {
  return definitionFiles(root).flatMap((file) => orPrint(() => [readDefinition(root, file)]) ?? [])
}

/** Runs a function; prints the Failure that it throws, and returns undefined then. */
export function orPrint<Value>(run: () => Value): Value | undefined {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    printText(`${error.message}${error.hint === '' ? '' : ` ${error.hint}`}\n`)
    return undefined
  }
}
