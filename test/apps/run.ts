import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Runnable } from './applications.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname
const TIMEOUT_MS = 120_000

/** An application with an empty home folder and a project, connected with an edge by `edgecall connect`. */
export interface Connected {
  readonly project: string
  /** Runs it with a prompt, and with `more` words in its command, and returns what it has printed. */
  prompt(prompt: string, turn: number, more?: readonly string[]): Promise<string>
  /** The text of a file of the project; empty if there is none. */
  read(path: string): string
  remove(): void
}

export interface ConnectOptions {
  readonly url: string
  readonly key: string
  readonly usesMcp: boolean
}

export async function connectApplication(app: Runnable, { url, key, usesMcp }: ConnectOptions): Promise<Connected> {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-app-'))
  const [home, project] = [join(folder, 'home'), join(folder, 'project')]
  for (const each of [home, project, join(folder, 'tmp')]) mkdirSync(each)
  // Nothing but this machine can be reached, and no variable of this shell reaches the application.
  const nowhere = 'http://127.0.0.1:9'
  const base = {
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    TMPDIR: join(folder, 'tmp'),
    TERM: 'dumb',
    CI: '1',
    EDGECALL_KEY: key,
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    http_proxy: nowhere,
    https_proxy: nowhere,
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
  }
  const connect = [MAIN, 'connect', app.name, '--url', url, '--write', '--json']
  const ways = [['--model', app.model], ...(usesMcp ? [['--tools']] : [])]
  let variables = {}
  for (const way of ways) {
    const { stdout } = await promisify(execFile)(process.execPath, [...connect, ...way], { cwd: project, env: base })
    variables = { ...variables, ...JSON.parse(stdout).variables }
  }
  const values = Object.entries(variables).map(([name, value]) => [name, String(value).replace('"$EDGECALL_KEY"', key)])
  const filled = (text: string): string => text.replace('$EDGECALL_KEY', key).replace('$URL', url)
  const words = (all: readonly string[]): string[] => all.map(filled)
  const more = Object.entries(app.env ?? {}).map(([name, value]) => [name, filled(value)])
  const env = { ...base, ...Object.fromEntries([...values, ...more]) }
  if (app.file) writeFileSync(join(home, app.file.path), filled(app.file.text))
  if (usesMcp && app.addServer) await run(words(app.addServer), { cwd: project, env })
  return {
    project,
    prompt: (prompt, turn, more = []) =>
      run([...words(app.command(prompt, turn).slice(0, -1)), ...more, prompt], { cwd: project, env }),
    read: (path) => {
      try {
        return readFileSync(join(project, path), 'utf8')
      } catch {
        return ''
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** Runs a command to its end, without an input. Returns what it has printed, on both streams. */
function run(
  words: readonly string[],
  options: { readonly cwd: string; readonly env: Record<string, string> },
): Promise<string> {
  const [file = '', ...args] = words
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    // The group, since applications start servers of their own.
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
    const timer = setTimeout(() => {
      output += '\n(it did not end)'
      end()
    }, TIMEOUT_MS)
    child.on('error', reject)
    child.on('exit', () => {
      clearTimeout(timer)
      setTimeout(() => {
        end()
        resolve(output)
      }, 100)
    })
  })
}
