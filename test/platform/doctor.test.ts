import { expect, test } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'
import { FIGURES } from '../../src/contract/platform.ts'
import { start } from '../cli/command.ts'

const ROOT = new URL('../..', import.meta.url).pathname

test('`edgecall doctor --plan free` measures each kind of invocation, and names what cannot work', async () => {
  const args = ['src/cli/main.ts', 'doctor', '--plan', 'free', '--json']
  const command = start(process.execPath, args, { cwd: ROOT })
  await command.ended
  const lines: any[] = command
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.filter(({ topic, remedy }) => topic === 'plan' && remedy.includes('WORKERS_PLAN'))).toEqual([
    {
      level: 'warning',
      topic: 'plan',
      file: 'wrangler.toml',
      message: 'A run may make more than the 50 subrequests of an invocation on the Free plan.',
      remedy: 'Set WORKERS_PLAN = "free" under [vars].',
    },
  ])
  const { cpu } = lines.at(-1)
  expect(cpu.map(({ kind }: any) => kind)).toEqual(['edge', 'object', 'tool', 'alarm'])
  for (const { invocations, median, most } of cpu) {
    expect(invocations).toBeGreaterThan(0)
    expect(median).toBeLessThanOrEqual(most)
  }
})

test('the profile of the Free plan stays below its subrequests, and its values can be set', () => {
  const { maxSubrequests, window } = readConfig({ WORKERS_PLAN: 'free' })
  expect(maxSubrequests).toBeLessThanOrEqual(0.8 * FIGURES.free.subrequests)
  expect(window).toEqual({ tokens: 8000 })
  const own = readConfig({ WORKERS_PLAN: 'free', MAX_SUBREQUESTS: '30', MEMORY_TOKENS: '2000' })
  expect([own.maxSubrequests, own.window]).toEqual([30, { tokens: 2000 }])
  expect(readConfig({}).window).toEqual({})
  expect(() => readConfig({ WORKERS_PLAN: 'enterprise' })).toThrow('WORKERS_PLAN')
})
