import { readdirSync, readFileSync } from 'node:fs'

/** Returns the processor time that all threads of a process have used so far, in milliseconds. Linux only. */
export function processorMs(pid: number): number {
  let nanoseconds = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ', 1)[0])
  }
  return nanoseconds / 1e6
}

/** Returns the resident memory of a process, in MiB. Linux only. */
export function memoryMib(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

/** Returns the ids of the workerd processes that this one, or a child of it, has started. Linux only. */
export function childWorkerds(): readonly number[] {
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
      // It ended meanwhile.
    }
  }
  const isChild = (pid: number): boolean => {
    const parent = parents.get(pid)
    return parent === process.pid || (parent !== undefined && parent > 1 && isChild(parent))
  }
  return [...names].filter(([pid, name]) => name.startsWith('workerd') && isChild(pid)).map(([pid]) => pid)
}
