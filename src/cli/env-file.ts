import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from './failure.ts'

/** A file that only this user can read, in a folder of its own outside the repository. */
export interface EnvFile {
  readonly folder: string
  readonly path: string
  /** Removes the folder. */
  remove(): void
}

/** Writes variables for wrangler's `--env-file`: unlike `--var` it shows no key in the list of processes. */
export function writeEnvFile(variables: Readonly<Record<string, string>>): EnvFile {
  const text = encodeEnv(variables)
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-'))
  const path = join(folder, 'edge.env')
  writeFileSync(path, text, { mode: 0o600 })
  return { folder, path, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * Variables in the form that wrangler reads: dotenv 16, then dotenv-expand. Between backticks the first takes all as it
 * stands, line breaks too (each as \n), but has no escape for a backtick; the second replaces `${NAME}` and knows only
 * `\$`. So a backtick is written as a reference to one more variable, which is there when it is needed. Its name stands in
 * no value: the second takes the first text of that form for the reference, escaped or not.
 * Throws a Failure for the one thing that cannot be said so: a backslash before a backtick or at the end.
 */
export function encodeEnv(variables: Readonly<Record<string, string>>): string {
  let backtick = 'BACKTICK'
  while (Object.values(variables).some((value) => value.includes(backtick))) backtick += '_'
  const lines = Object.entries(variables).map(([name, value]) => {
    if (/\\(`|$)/.test(value)) {
      throw new Failure(`${name} holds a backslash before a backtick or at its end, which wrangler cannot be given.`)
    }
    return `${name}=\`${value.replaceAll('$', '\\$').replaceAll('`', `\${${backtick}}`)}\`\n`
  })
  const needed = Object.values(variables).some((value) => value.includes('`'))
  return (needed ? `${backtick}='\`'\n` : '') + lines.join('')
}
