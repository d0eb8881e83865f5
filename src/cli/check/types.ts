import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { CheckProblem } from './problem.ts'

/** A line of tsc, such as `src/index.ts(3,7): error TS2322: Type …`. */
const ERROR_LINE = /^(.+?)\((\d+),\d+\): error (TS\d+: .*)$/

const MOST_ERRORS = 10

/** Returns the type errors of a project; none if it has no tsconfig.json or no TypeScript. */
export async function checkTypes(root: string): Promise<readonly CheckProblem[]> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  if (!existsSync(compiler) || !existsSync(join(root, 'tsconfig.json'))) return []
  const child = spawn(process.execPath, [compiler, '--noEmit', '--pretty', 'false'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [out] = await Promise.all([text(child.stdout), once(child, 'close')])
  const errors = out.split('\n').flatMap((line) => {
    const [, file, at, message] = ERROR_LINE.exec(line) ?? []
    return file === undefined ? [] : [{ file, line: Number(at), message: message ?? '', remedy: '' }]
  })
  if (errors.length > 0 || child.exitCode === 0) return errors.slice(0, MOST_ERRORS)
  return [{ file: 'tsconfig.json', message: `tsc: ${out.trim().split('\n')[0]}`, remedy: '' }]
}
