import { describe, expect, test } from 'vitest'
import { costOf, MONTHLY, usageOfRun } from '../../src/cli/cost/print.ts'
import { start } from './command.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname

async function cost(...args: string[]) {
  const command = start(process.execPath, [MAIN, 'cost', ...args], { cwd: process.cwd(), env: {} })
  try {
    return { code: await command.ended, out: command.out(), errors: command.errors() }
  } finally {
    command.kill()
  }
}

describe('the command cost', () => {
  test('prints what a month of runs uses, what is included, and what it costs', async () => {
    expect(await cost('--runs', '1e7', '--steps', '3')).toEqual({
      code: 0,
      errors: '',
      out: `10,000,000 runs a month, 3 steps each, 2 s for each answer of a model

                              used        included     cost
requests to Workers     10,000,000      10,000,000    $0.00
milliseconds of CPU    100,000,000      30,000,000    $1.40
requests to objects     40,000,000       1,000,000    $5.85
GB-seconds of objects    7,680,000         400,000   $91.00
rows read              390,000,000  25,000,000,000    $0.00
rows written           320,000,000      50,000,000  $270.00
kilobytes stored       200,000,000       5,000,000   $39.00
reads of KV             10,000,000      10,000,000    $0.00
log lines               70,000,000      20,000,000   $30.00
Workers Paid                                          $5.00

$442.25 a month without the models, by Cloudflare’s prices of 2026-11. An estimate.
`,
    })
  })

  test('prints numbers for programs, and refuses what is not a number', async () => {
    const { out } = await cost('--runs', '1e6', '--unstored', '--json')
    expect(JSON.parse(out)).toMatchObject({ runs: 1e6, steps: 3, isStored: false, total: 5 })
    expect(await cost('--runs', 'many')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('--runs must be a number above 0, not "many".'),
    })
    expect(await cost('--steps', '1.5')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('--steps must be a whole number from 1, not 1.5.'),
    })
  })
})

test('a run without a conversation is only counted, in the object of its tenant', () => {
  const usage = usageOfRun({ steps: 3, seconds: 2, isStored: false })
  expect(Object.entries(usage).filter(([, amount]) => amount > 0)).toEqual([
    ['requests to Workers', 1],
    ['milliseconds of CPU', 10],
    ['requests to objects', 1],
    ['rows written', 5],
    ['reads of KV', 1],
    ['log lines', 4],
  ])
})

test('a load within what the plan includes costs what the plan costs', () => {
  expect(costOf({ runs: 1000, steps: 3, seconds: 2, isStored: true }).total).toBe(MONTHLY)
})
