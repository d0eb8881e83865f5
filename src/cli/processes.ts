import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** A process that runs, or ran when it was looked up. Numbers are used again: with its start they tell it apart. */
export interface Process {
  readonly pid: number
  readonly parent: number
  readonly started: string
}

/** A process with those that it started, and those that these started. Only who started whom counts, never a name. */
export function family(pid: number): Process[] {
  const all = running()
  const children = Map.groupBy(all, (process) => process.parent)
  const found = all.filter((process) => process.pid === pid)
  // The list grows while it is walked.
  for (const member of found) found.push(...(children.get(member.pid) ?? []))
  return found
}

/** Those that have not ended. */
export function stillRunning(processes: Iterable<Process>): Process[] {
  const now = new Map(running().map((process) => [process.pid, process.started]))
  return [...processes].filter(({ pid, started }) => now.get(pid) === started)
}

/** Kills those that have not ended. */
export function killAll(processes: Iterable<Process>): void {
  for (const { pid } of stillRunning(processes)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
}

function running(): Process[] {
  return existsSync('/proc/self/stat') ? fromProc() : fromPs()
}

/** Of Linux, where `ps` need not be installed. */
function fromProc(): Process[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? parseStat(readStat(name)) : []))
}

/** Empty for a process that has gone since it was listed. */
function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

/** `pid (name) state parent …`, the start in field 22; the name may hold spaces and brackets. See proc_pid_stat(5). */
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

/** A process that has ended stays listed until its parent has asked how. */
function isOver(state = ''): boolean {
  return state.startsWith('Z') || state.startsWith('X')
}
