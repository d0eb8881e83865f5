import fc from 'fast-check'
import { test } from 'vitest'
import { copyWorld, drawnCopies, faultOf } from './copies.ts'

test('none of a few copies, valid or forged, has anything run that its key could not start itself', async () => {
  const world = await copyWorld()
  const property = fc.asyncProperty(drawnCopies, async (copy) => {
    const fault = await faultOf(world, copy)
    if (fault !== undefined) throw new Error(fault)
  })
  // `copies.test.ts` draws a thousand.
  await fc.assert(property, { numRuns: 40, seed: 15 })
})
