/** The CPU time of a request and its answer. The time that other programs take does not count. */
export interface CpuTime {
  readonly ms: number
  readonly status: number
}

/** Measures what a request costs. It is sent again, up to three times, while it costs more than `most` milliseconds: the first compiles code. */
export async function cpuTime(most: number, send: () => Response | Promise<Response>): Promise<CpuTime> {
  let least: CpuTime = { ms: Infinity, status: 0 }
  for (let count = 0; count < 3 && least.ms > most; count += 1) {
    const start = process.threadCpuUsage()
    const response = await send()
    await response.text()
    const { user, system } = process.threadCpuUsage(start)
    const ms = (user + system) / 1000
    if (ms < least.ms) least = { ms, status: response.status }
  }
  return least
}
