import fc from 'fast-check'
import { test } from 'vitest'
import { copyWorld, drawnCopies, faultOf } from './copies.ts'

/** `npm run test:faults` restores copies for this many seconds. */
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 0)
const seed = Number(process.env['FUZZ_SEED'] ?? 15)
const EFFORT = seconds > 0 ? { numRuns: 1_000_000, interruptAfterTimeLimit: seconds * 1000 } : { numRuns: 1000 }

test(
  'no copy, valid or forged, has anything run that the key which restores it could not start itself',
  async () => {
    const world = await copyWorld()
    const property = fc.asyncProperty(drawnCopies, async (copy) => {
      const fault = await faultOf(world, copy)
      if (fault !== undefined) throw new Error(fault)
    })
    await fc.assert(property, { ...EFFORT, seed })
  },
  // Long enough for a machine that is busy with ten other things.
  (seconds + 300) * 1000,
)
