import { tmpdir } from 'node:os'
import { relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/table.ts'
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

describe('the command line', () => {
  test.each([['help'], ['--help'], ['-h']])('lists all commands: %s', async (word) => {
    const { code, out, errors } = await run(word)
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(COMMANDS.filter(({ name, summary }) => !out.includes(`  ${name}`) || !out.includes(summary))).toEqual([])
  })

  test('tells the arguments and options of one command', async () => {
    const { code, out } = await run('import', 'openapi', '--help')
    expect(code).toBe(0)
    expect(out).toMatch(/^Usage: edgecall import openapi <file> \[options\]\n\nmake a stored definition/)
    expect(out).toMatch(/\n {2}--secret <SECRET_NAME> +the secret that calls send/)
    expect(out).toMatch(/\n {2}--json +print JSON/)
  })

  test('tells the same after help', async () => {
    expect(await run('help', 'import', 'openapi')).toEqual(await run('import', 'openapi', '--help'))
    expect(await run('help', 'new')).toEqual(await run('new', '--help'))
  })

  test.each([
    [['begin'], 'There is no command "begin"\n\nUsage: edgecall <command>'],
    [['import'], 'There is no command "import". There are: import openapi'],
    [['help', 'begin'], 'There is no command "begin"\n\nUsage: edgecall <command>'],
    [['help', 'import', 'xml'], 'There is no command "import xml". There are: import openapi'],
    [['dev', '--question'], `Unknown option '--question'\n\nUsage: edgecall dev [options]`],
    [['dev', '--ask'], `Option '--ask <value>' argument missing\n\nUsage: edgecall dev [options]`],
    [['deploy', 'now'], `Unexpected argument 'now'`],
    [['import', 'openapi'], 'import openapi needs <file>: the document, in JSON'],
  ])('refuses %j with exit code 2', async (args, message) => {
    expect(await run(...args)).toEqual({ code: 2, out: '', errors: expect.stringContaining(message) })
  })

  const nowhere = {
    message: `There is no wrangler.toml in ${tmpdir()}.`,
    hint: `Run this in the folder of your edge, or make one: npx node ${relative(tmpdir(), MAIN)} init <folder>`,
  }

  test('prints a failure and its remedy to stderr, and exits with 1', async () => {
    expect(await run('dev')).toEqual({ code: 1, out: '', errors: `${nowhere.message}\n${nowhere.hint}\n` })
  })

  test('prints a failure as JSON to stdout under --json', async () => {
    const { code, out } = await run('dev', '--json')
    expect({ code, out: JSON.parse(out) }).toEqual({ code: 1, out: { error: nowhere } })
  })
})
