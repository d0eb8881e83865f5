import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1)
/** Seeds in which an outcome came before its call was known to be answered later: its usage was counted twice. */
const FORMER_FAULTS = [153, 181, 208]

// In a process of its own, whose clock is simulated.
test('simulated runs with two levels of agents keep the promises of the contract, whichever objects are lost', async () => {
  const script = new URL('agents-main.ts', import.meta.url).pathname
  const args = ['--disable-warning=ExperimentalWarning', script, ...[...SEEDS, ...FORMER_FAULTS].map(String)]
  const output = await text(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }).stdout)
  expect(output.split('\n').filter((line) => line.startsWith('FAULT '))).toEqual([])
  expect(Number(/^(\d+) runs of agents/m.exec(output)?.[1])).toBeGreaterThan(SEEDS.length * 2)
})
