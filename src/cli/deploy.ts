import { once } from 'node:events'
import { build, type Build } from './build.ts'
import { type DefinitionFile, putDefinitions, readDefinitions } from './definitions.ts'
import { Failure } from './failure.ts'
import { findWorkers, type Worker } from './workers.ts'
import { deployArguments, spawnWrangler } from './wrangler.ts'

export interface DeployOptions {
  /** The repository's folder. */
  readonly root: string
  /** Provides EDGECALL_URL and EDGECALL_KEY, and the variables that wrangler reads. */
  readonly env: NodeJS.ProcessEnv
  /** Build all Workers and print their sizes, but deploy nothing. Needs no account and no network. */
  readonly dryRun: boolean
}

/**
 * Deploys every tool Worker, then the edge, whose service bindings need Workers that exist, then puts the stored
 * definitions. Throws a Failure at the first step that fails, without taking the next ones.
 */
export async function deploy({ root, env, dryRun }: DeployOptions): Promise<void> {
  const { edge, tools } = findWorkers(root)
  const definitions = readDefinitions(root)
  const workers = [...tools, edge]
  if (dryRun) {
    const builds: Build[] = []
    for (const worker of workers) builds.push(await build(worker, { root, env }))
    print(table([{ name: 'Worker', size: 'size', gzip: 'gzip' }, ...builds]))
    return
  }
  for (const [index, worker] of workers.entries()) {
    print(`\n${worker.name}, ${index + 1} of ${workers.length}\n`)
    const child = spawnWrangler(deployArguments(worker), { root, env, stdio: 'inherit' })
    await once(child, 'close')
    if (child.exitCode !== 0) throw notDeployed(worker, workers.slice(index + 1))
  }
  await storeDefinitions(definitions, env)
}

function notDeployed({ name, config }: Worker, rest: readonly Worker[]): Failure {
  const skipped = rest.length === 0 ? '' : ` Not tried after it: ${rest.map((worker) => worker.name).join(', ')}.`
  return new Failure(
    `\n${name} was not deployed; wrangler says why above.${skipped}`,
    `Then run this again; what is deployed already is only replaced. To try this Worker alone: npx wrangler deploy -c ${config}`,
  )
}

/** Puts the definitions through the edge, because only the edge checks them and orders their writes. */
async function storeDefinitions(definitions: readonly DefinitionFile[], env: NodeJS.ProcessEnv): Promise<void> {
  const { EDGECALL_URL: url = '', EDGECALL_KEY: key = '' } = env
  if (definitions.length === 0) return
  if (url !== '' && key !== '') {
    await putDefinitions({ url: url.replace(/\/+$/, ''), key }, definitions)
    print(`\nStored at ${url}: ${definitions.map(({ name }) => name).join(', ')}\n`)
    return
  }
  print(`
The definitions of tools/definitions were not stored: ${definitions.map(({ name }) => name).join(', ')}.
To store them, run this again with EDGECALL_URL, the address of the edge, and EDGECALL_KEY, a key with the scope
tools:admin.
`)
}

/** Formats a table, with names aligned left and figures aligned right. */
function table(rows: readonly Build[]): string {
  const width = (column: keyof Build) => Math.max(...rows.map((row) => row[column].length))
  const [names, sizes, gzips] = [width('name'), width('size'), width('gzip')]
  const lines = rows.map(
    ({ name, size, gzip }) => `${name.padEnd(names)}  ${size.padStart(sizes)}  ${gzip.padStart(gzips)}\n`,
  )
  return lines.join('')
}

function print(text: string): void {
  process.stdout.write(text)
}
