import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Failure } from './failure.ts'
import type { Worker } from './workers.ts'
import { deployArguments, spawnWrangler, UNATTENDED } from './wrangler.ts'

/** The size of a Worker, as wrangler prints it, such as `12.34 KiB`. */
export interface Build {
  readonly name: string
  readonly size: string
  readonly gzip: string
}

/**
 * Builds a Worker exactly as a deployment does, but uploads nothing; needs no account and no network. Throws a Failure
 * with wrangler's output if it does not build.
 */
export async function build(worker: Worker, { root, env }: { root: string; env: NodeJS.ProcessEnv }): Promise<Build> {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-build-'))
  try {
    const child = spawnWrangler([...deployArguments(worker), '--dry-run', '--outdir', folder], {
      root,
      env: { ...env, ...UNATTENDED },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (!child.stdout || !child.stderr) throw new Failure('wrangler could not be started.')
    const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    const [, size, gzip] = /Total Upload: (.+) \/ gzip: (.+)/.exec(out) ?? []
    if (child.exitCode === 0 && size !== undefined && gzip !== undefined) return { name: worker.name, size, gzip }
    throw new Failure(`${worker.name} does not build (${worker.config}). wrangler says:`, `${out}${problems}`.trim())
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
