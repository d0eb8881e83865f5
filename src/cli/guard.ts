import { spawn } from 'node:child_process'

/** Ends a process and removes a folder if this process dies before it has done so itself. */
export interface Guard {
  /** Ends the guard, once the process has ended and the folder needs no guard. */
  release(): void
}

// The pipe to the guard closes however this process ends, even by SIGKILL. Ctrl-C also reaches the guard and must not
// end it before its work is done.
const SCRIPT = `trap '' INT TERM HUP; read -r _; kill -TERM "$0"; rm -rf "$1"`

/** Starts a guard: a shell that waits. Release it as soon as the process has ended, because its id may be reused. */
export function setGuard({ pid, folder }: { pid: number; folder: string }): Guard {
  const shell = spawn('sh', ['-c', SCRIPT, String(pid), folder], { stdio: ['pipe', 'ignore', 'ignore'] })
  return { release: () => shell.kill('SIGKILL') }
}
