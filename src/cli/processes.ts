import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** A process that ran when it was looked up. Ids are reused, so only id and start time together identify a process. */
export interface Process {
  readonly pid: number
  readonly parent: number
  readonly started: string
}

/** Returns a process and all its descendants. They are found by parent ids, never by name. */
export function family(pid: number): Process[] {
  const all = running()
  const children = Map.groupBy(all, (process) => process.parent)
  const members = all.filter((process) => process.pid === pid)
  // The loop also visits the members that it appends.
  for (const member of members) members.push(...(children.get(member.pid) ?? []))
  return members
}

/** Returns those processes that have not ended. */
export function stillRunning(processes: Iterable<Process>): Process[] {
  const now = new Map(running().map((process) => [process.pid, process.started]))
  return [...processes].filter(({ pid, started }) => now.get(pid) === started)
}

/** Kills those processes that have not ended. */
export function killAll(processes: Iterable<Process>): void {
  for (const { pid } of stillRunning(processes)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended in the meantime.
    }
  }
}

function running(): Process[] {
  return existsSync('/proc/self/stat') ? fromProc() : fromPs()
}

/** Lists the processes of a Linux system, where `ps` may be missing. */
function fromProc(): Process[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? parseStat(readStat(name)) : []))
}

/** Returns '' for a process that has ended since it was listed. */
function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Parses `pid (name) state parent …`, with the start time in field 22. The name may contain spaces and brackets. See
 * proc_pid_stat(5).
 */
function parseStat(stat: string): Process[] {
  const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const started = rest[17]
  return started === undefined || isOver(state) ? [] : [{ pid: parseInt(stat), parent: Number(parent), started }]
}

function fromPs(): Process[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,lstart='], { encoding: 'utf8' }).trim().split('\n')
  return lines.flatMap((line) => {
    const [pid, parent, state, ...started] = line.trim().split(/\s+/)
    return isOver(state) ? [] : [{ pid: Number(pid), parent: Number(parent), started: started.join(' ') }]
  })
}

/** Tells whether a process has ended; it stays listed until its parent has read its exit status. */
function isOver(state = ''): boolean {
  return state.startsWith('Z') || state.startsWith('X')
}
