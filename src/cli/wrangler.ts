import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type * as Wrangler from 'wrangler'
import { isObject } from '../contract/json.ts'
import { Failure } from './failure.ts'

export interface WranglerOptions {
  /** The repository's folder, whose `node_modules` has the wrangler to run. */
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly stdio: StdioOptions
  /** Options of Node for its process. Default: none. */
  readonly nodeOptions?: readonly string[]
}

/**
 * Starts wrangler with the Node that runs this process, because the machine's own may be too old. Throws a Failure if
 * the project has no wrangler. Its command would start a second Node that waits for the first, so its module is run instead.
 */
export function spawnWrangler(
  args: readonly string[],
  { root, env, stdio, nodeOptions = [] }: WranglerOptions,
): ChildProcess {
  const script = join(root, 'node_modules/wrangler/wrangler-dist/cli.js')
  if (!existsSync(script)) throw missing()
  // Node caches its compiled code of wrangler here, so that the next start is faster.
  const compiled = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node') }
  const options = ['--no-warnings', ...nodeOptions]
  return spawn(process.execPath, [...options, script, ...args], { cwd: root, env: { ...compiled, ...env }, stdio })
}

/** Imports wrangler. Throws a Failure if it is not installed, since it is an optional peer of the package. */
export async function importWrangler(): Promise<typeof Wrangler> {
  try {
    return await import('wrangler')
  } catch (error) {
    if (isObject(error) && error['code'] === 'ERR_MODULE_NOT_FOUND') throw missing()
    throw error
  }
}

function missing(): Failure {
  return new Failure('wrangler is not installed in this project.', 'Run npm install, or npm install -D wrangler.')
}

/** The environment of an unattended wrangler: no prompts, no colours, no metrics, no log files in the home folder. */
export const UNATTENDED = {
  CI: '1',
  FORCE_COLOR: '0',
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
} as const
