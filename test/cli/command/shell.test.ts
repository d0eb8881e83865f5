import { pathToFileURL } from 'node:url'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { shellCommand } from '../../../src/cli/command/shell.ts'

const run = promisify(execFile)

test('a command in a hint is run by npx from the package, and by Node from the sources', () => {
  const urlOf = (path: string) => pathToFileURL(path).href
  expect(shellCommand('ask "Why?"', '/shop', urlOf('/shop/node_modules/edgecall/dist/cli/command/shell.js'))).toBe(
    'npx edgecall ask "Why?"',
  )
  expect(shellCommand('ask "Why?"', '/clone', urlOf('/clone/src/cli/command/shell.ts'))).toBe(
    'npx node src/cli/main.ts ask "Why?"',
  )
  expect(shellCommand('deploy', '/clone/examples/films', urlOf('/clone/src/cli/command/shell.ts'))).toBe(
    'npx node ../../src/cli/main.ts deploy',
  )
})

test('a command in a hint of the sources can be run in a shell', async () => {
  const { stdout } = await run('sh', ['-c', shellCommand('help')])
  expect(stdout).toContain('Usage: edgecall')
})

test('every hint of the command line names a command that works where it is printed', () => {
  // The files of a project that `init` makes are read where the package is installed.
  const files = globSync('src/cli/**/*.ts').filter((file) => !/cli\/(project|document)\/|shell\.ts$/.test(file))
  const wrong = files.filter((file) =>
    /npx edgecall|Run `edgecall|then: edgecall|one: edgecall|continue: edgecall/.test(readFileSync(file, 'utf8')),
  )
  expect(wrong).toEqual([])
})
