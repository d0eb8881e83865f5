import { describe, expect, test } from 'vitest'
import { simulate } from './simulate.ts'

/** Seeds that are played in `npm test`; `npm run test:faults` plays many more. */
const SEEDS = 150
/** Seeds that once found a fault. */
const FAULTY = [1_688_775_477, 1_688_776_061, 1_829_249_714]

describe('a simulated conversation', () => {
  test('keeps the promises of the contract, whatever is posted, decided, cancelled, lost and failing', async () => {
    let runs = 0
    let reductions = 0
    for (const seed of [...Array.from({ length: SEEDS }, (_, index) => index + 1), ...FAULTY]) {
      const simulated = await simulate(seed)
      expect(simulated.faults, `seed ${seed}: ${simulated.trace.join('; ')}`).toEqual([])
      runs += simulated.runs
      reductions += simulated.reductions
    }
    expect(runs).toBeGreaterThan(SEEDS * 2)
    expect(reductions).toBeGreaterThan(SEEDS / 15)
  })

  test('does the same again for the same seed', async () => {
    for (const seed of [3, 7, 11]) expect(await simulate(seed)).toEqual(await simulate(seed))
  })
})
