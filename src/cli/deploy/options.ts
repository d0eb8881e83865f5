import type { startBundles } from '../check/describe.ts'
import type { Terminal } from '../command/terminal.ts'
import type { MakeBundle } from './bundle.ts'

/** What `edgecall deploy` is to do. */
export interface DeployOptions {
  /** The project's folder. */
  readonly root: string
  /** Provides EDGECALL_URL and EDGECALL_KEY, and the variables that wrangler reads. */
  readonly env: NodeJS.ProcessEnv
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** Check and build all Workers, but change nothing. Needs no account and no network. */
  readonly dryRun: boolean
  /** Such as `staging`. */
  readonly environment: string
  /** Deploy this Worker alone, or `definitions`. Default: everything. */
  readonly only?: string | undefined
  /** Finish a deployment that has stopped half-way, with the same sources and options. */
  readonly resume: boolean
  /** Replace versions that somebody else has made, and begin a new record in place of a lost one, without asking. */
  readonly force: boolean
  /** With `only`: the percentage of requests that the new version gets. Default: all. */
  readonly gradual?: number | undefined
  /** A file of secrets to set. */
  readonly secrets?: string | undefined
  /** Tools whose contracts may break. */
  readonly allowBreak: readonly string[]
  /** Workers that may be deployed although they are stand-ins. */
  readonly allowStandIn: readonly string[]
  /** The names and ids of resources that this environment may share with others of the project. */
  readonly allowShared: readonly string[]
  /** Workers of the account that may be overwritten although they are not of this project. */
  readonly adopt: readonly string[]
  /** Makes the bundles. Default: wrangler builds. */
  readonly bundle?: MakeBundle
  /** Starts the bundles and has them describe themselves. Default: in workerd. */
  readonly start?: typeof startBundles
}

/** Returns whether definitions alone are to be stored. */
export function isDefinitionsOnly({ only }: DeployOptions): boolean {
  return only === 'definitions'
}
