import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { start } from './command.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname

async function run(...args: string[]): Promise<{ code: number | null; out: string; errors: string }> {
  const command = start(process.execPath, [MAIN, ...args], { cwd: tmpdir() })
  try {
    return { code: await command.ended, out: command.out(), errors: command.errors() }
  } finally {
    command.kill()
  }
}

test.each([['help'], ['--help'], ['start', '--help'], ['deploy', '-h']])('tells the usage: %s %s', async (...args) => {
  expect(await run(...args)).toEqual({ code: 0, out: expect.stringContaining('npm start -- --ask'), errors: '' })
})

test.each([
  [['begin'], 'There is no command "begin"\n\nnpm start '],
  [['start', '--question'], `Unknown option '--question'\n\nnpm start `],
  [['start', '--ask'], `Option '--ask <value>' argument missing\n\nnpm start `],
  [['deploy', 'now'], `Unexpected argument 'now'`],
])('refuses %j', async (args, message) => {
  expect(await run(...args)).toEqual({ code: 2, out: '', errors: expect.stringContaining(message) })
})

test('says where it must be run', async () => {
  const errors = `There is no wrangler.toml in ${tmpdir()}.\nRun this in the repository's folder.\n`
  expect(await run('start')).toEqual({ code: 1, out: '', errors })
})
