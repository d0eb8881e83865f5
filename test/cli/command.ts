import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { family, killAll, type Process } from '../../src/cli/processes.ts'

/** A command that runs as it does in a shell, from the repository's folder. */
export interface Command {
  readonly pid: number
  /** What it has written so far. */
  readonly out: () => string
  readonly errors: () => string
  /** Resolves when the output holds the text, after its first `from` characters; rejects when the command ends without it. */
  until(text: string, from?: number): Promise<void>
  /** Resolves with the exit code; null after a signal. */
  readonly ended: Promise<number | null>
  /** Ends whatever still runs of it. */
  kill(): void
}

export interface CommandOptions {
  /** Beside PATH and HOME: nothing else of the environment reaches the command. */
  readonly env?: Record<string, string>
  readonly cwd?: string
}

/** Starts a command. Call `kill` at the end, whatever became of the test. */
export function start(command: string, args: readonly string[], { env = {}, cwd }: CommandOptions = {}): Command {
  const { PATH, HOME } = process.env
  const child = spawn(command, args, {
    cwd: cwd ?? new URL('../..', import.meta.url).pathname,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const pid = child.pid!
  let out = ''
  let errors = ''
  let processes: Process[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    // Processes that lose their parent cannot be found any more: they are noted while they have it.
    processes = [...processes, ...family(pid)]
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const ended = once(child, 'close').then(() => child.exitCode)
  return {
    pid,
    out: () => out,
    errors: () => errors,
    until: async (text, from = 0) => {
      const appearance = new Promise<void>((resolve) => {
        const check = () => {
          if (out.includes(text, from)) resolve()
        }
        child.stdout.on('data', check)
        check()
      })
      await Promise.race([appearance, ended])
      if (!out.includes(text, from)) throw new Error(`It ended without "${text}":\n${out}${errors}`)
    },
    ended,
    kill: () => killAll([...processes, ...family(pid)]),
  }
}

/** A port that nobody uses now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
