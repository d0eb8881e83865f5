import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { Failure } from '../failure.ts'
import { spawnWrangler, UNATTENDED } from '../wrangler.ts'

export interface RunWranglerOptions {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  /** What it reads from standard input, such as a secret. Default: nothing. */
  readonly input?: string
}

/** Runs a command of wrangler, unattended, and returns what it prints. Throws a Failure with its reason. */
export async function runWrangler(
  args: readonly string[],
  { root, env, input = '' }: RunWranglerOptions,
): Promise<string> {
  const child = spawnWrangler(args, { root, env: { ...env, ...UNATTENDED }, stdio: ['pipe', 'pipe', 'pipe'] })
  if (!child.stdin || !child.stdout || !child.stderr) throw new Failure('wrangler could not be started.')
  child.stdin.end(input)
  const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (child.exitCode === 0) return out
  throw new Failure(`wrangler ${args.slice(0, 3).join(' ')} failed. It wrote:`, `${out}${problems}`.trim())
}
