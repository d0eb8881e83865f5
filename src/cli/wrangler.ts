import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { join } from 'node:path'

export interface WranglerOptions {
  /** The repository: wrangler is the one in its `node_modules`. */
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly stdio: StdioOptions
}

/** Starts wrangler with the Node that runs this, which is new enough where the machine's own may not be. */
export function spawnWrangler(args: readonly string[], { root, env, stdio }: WranglerOptions): ChildProcess {
  const script = join(root, 'node_modules/wrangler/bin/wrangler.js')
  // What Node compiled of wrangler for one start serves the next.
  const compiled = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node') }
  return spawn(process.execPath, [script, ...args], { cwd: root, env: { ...compiled, ...env }, stdio })
}

/** For a wrangler that nobody watches: no questions, no colours, no statistics, no log files in the home folder. */
export const UNATTENDED = {
  CI: '1',
  FORCE_COLOR: '0',
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
} as const

/** What deploys a Worker from its configuration. */
export function deployArguments({ config }: { readonly config: string }): string[] {
  return ['deploy', '-c', config, '--minify']
}
