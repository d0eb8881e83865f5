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

/** Writes variables for wrangler's `--env-file`, which, unlike `--var`, shows no keys in the list of processes. */
export function writeEnvFile(variables: Readonly<Record<string, string>>): EnvFile {
  const text = encodeEnv(variables)
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-'))
  const path = join(folder, 'edge.env')
  writeFileSync(path, text, { mode: 0o600 })
  return { folder, path, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * Encodes variables in the format that wrangler reads with dotenv 16 and then dotenv-expand. Between backticks, dotenv
 * takes everything literally, line breaks too (each as \n), but has no escape for a backtick. dotenv-expand replaces
 * `${NAME}` and knows only the escape `\$`. So a backtick is written as a reference to an additional variable, which is
 * defined if needed. No value may contain the name of that variable, because dotenv-expand replaces the first text in
 * the form of the reference, escaped or not.
 * Throws a Failure for the one case without an encoding: a backslash before a backtick or at the end.
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
