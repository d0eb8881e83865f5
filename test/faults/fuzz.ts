import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = new URL('../..', import.meta.url).pathname

/** Sends odd requests to an edge in this many seconds; see `test/security/fuzz.ts`. Returns what was wrong. */
export function playOddRequests(seed: number, seconds: number): Promise<string[]> {
  return play('test/security/fuzz.test.ts', seed, seconds)
}

/** Restores forged copies in this many seconds; see `test/security/copies.ts`. Returns what was wrong. */
export function playForgedCopies(seed: number, seconds: number): Promise<string[]> {
  // One of the files that `npm test` leaves out.
  return play('test/security/copies.test.ts', seed, seconds, { SLOW: '1' })
}

async function play(file: string, seed: number, seconds: number, vars: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const env = { ...process.env, ...vars, FUZZ_SECONDS: String(seconds), FUZZ_SEED: String(seed), NO_COLOR: '1' }
  const args = ['run', file, '--silent', '--reporter=default']
  try {
    await promisify(execFile)(join(ROOT, 'node_modules/.bin/vitest'), args, { cwd: ROOT, env, maxBuffer: 2 ** 26 })
    return []
  } catch (error) {
    // Vitest writes what failed to stderr.
    if (!(error instanceof Error && 'stdout' in error && 'stderr' in error)) return [String(error)]
    return [`seed ${seed}: ${error.message}\n${String(error.stderr)}\n${String(error.stdout)}`]
  }
}
