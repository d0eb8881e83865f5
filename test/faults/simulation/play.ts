import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'

const WORKER = new URL('main.ts', import.meta.url).pathname

/**
 * Plays simulations of a seed and those after it for so many seconds, in a process for each core, whose clock is
 * simulated. Returns what they found.
 */
export async function playSimulations(seed: number, seconds: number): Promise<string[]> {
  const processes = availableParallelism()
  const faults = await Promise.all(
    Array.from({ length: processes }, (_, index) => playEvery(processes, seed + index, seconds)),
  )
  return faults.flat()
}

/** Plays every so many-th seed from a first one on, in one process. */
async function playEvery(step: number, seed: number, seconds: number): Promise<string[]> {
  const args = ['--disable-warning=ExperimentalWarning', WORKER, String(seed), String(seconds), String(step)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (bytes: Buffer) => {
    process.stdout.write(bytes)
    output += String(bytes)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  const faults = output.split('\n').filter((line) => line.startsWith('FAULT '))
  return code === 0 || faults.length > 0 ? faults : [`the simulation ended with ${code}`]
}
