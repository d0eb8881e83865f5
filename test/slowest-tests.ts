import type { Reporter, TestModule } from 'vitest/node'

const MOST_TESTS = 20

/** A reporter of Vitest that prints the slowest tests of a run, slowest first. */
export default class SlowestTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        name: `${module.relativeModuleId} > ${test.fullName}`,
        ms: test.diagnostic()?.duration ?? 0,
      })),
    )
    const slowest = tests.sort((a, b) => b.ms - a.ms).slice(0, MOST_TESTS)
    console.log(`The slowest ${slowest.length} tests:`)
    for (const { name, ms } of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`)
  }
}
