import { spawn } from 'node:child_process'

/** Ends a process and removes a folder if this process dies before it could do so itself. */
export interface Guard {
  /** Both have been done: the guard goes. */
  release(): void
}

// The pipe to the guard closes whichever way this process ends, even by SIGKILL. Ctrl-C reaches the guard too, and must
// not end it before its work is done.
const SCRIPT = `trap '' INT TERM HUP; read -r _; kill -TERM "$0"; rm -rf "$1"`

/** Sets a guard, a shell that waits. Release it as soon as the process has ended: its number may be used again. */
export function setGuard({ pid, folder }: { pid: number; folder: string }): Guard {
  const shell = spawn('sh', ['-c', SCRIPT, String(pid), folder], { stdio: ['pipe', 'ignore', 'ignore'] })
  return { release: () => shell.kill('SIGKILL') }
}
