import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks a second, as Linux counts processor time for programs. */
const TICKS = 100

/** The workerd processes below this one. */
export function runtimes(): number[] {
  const parents = new Map<number, number>()
  const names = new Map<number, string>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      const end = stat.lastIndexOf(')')
      names.set(Number(entry), stat.slice(stat.indexOf('(') + 1, end))
      parents.set(Number(entry), Number(stat.slice(end + 2).split(' ')[1]))
    } catch {
      // It ended while we looked.
    }
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid)
    return parent === process.pid || (parent !== undefined && parent > 1 && isOurs(parent))
  }
  return [...names].filter(([pid, name]) => name.startsWith('workerd') && isOurs(pid)).map(([pid]) => pid)
}

/** Processor time of these processes so far, in milliseconds. */
export function cpuMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return sum + ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS
  }, 0)
}
