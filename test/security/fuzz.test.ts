import fc from 'fast-check'
import { test } from 'vitest'
import { drawnRequests, faultOf } from './fuzz.ts'
import { openWorld } from './world.ts'

/** `npm run test:faults` sends requests for this many seconds, and bounds the CPU time of each. */
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 0)
const seed = Number(process.env['FUZZ_SEED'] ?? 16)
const EFFORT = seconds > 0 ? { numRuns: 1_000_000, interruptAfterTimeLimit: seconds * 1000 } : { numRuns: 1000 }

test(
  'no request, however odd, is answered 500, and none that is refused writes anything',
  async () => {
    const world = await openWorld()
    const property = fc.asyncProperty(drawnRequests(world), async (round) => {
      const fault = await faultOf(world, round, seconds > 0)
      if (fault !== undefined) throw new Error(fault)
    })
    await fc.assert(property, { ...EFFORT, seed })
  },
  (seconds + 60) * 1000,
)
