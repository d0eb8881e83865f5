import { spawn } from 'node:child_process'
import { once } from 'node:events'

const WORKER = new URL('main.ts', import.meta.url).pathname

/** Plays simulations for so many seconds in a process of its own, whose clock is simulated. Returns what it found. */
export async function playSimulations(seed: number, seconds: number): Promise<string[]> {
  const args = ['--disable-warning=ExperimentalWarning', WORKER, String(seed), String(seconds)]
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
