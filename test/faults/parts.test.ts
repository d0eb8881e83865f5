import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { namesWith } from './parts.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What a harness says and exits with; it plays nothing. */
function run(file: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { cwd: ROOT, encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('the crash harness refuses words that no part has in its name, and lists the parts', () => {
  expect(run('test/faults/main.ts', '--only', 'no such part', '--seed', '7')).toEqual({
    ...{ status: 2, stdout: '' },
    stderr: expect.stringMatching(
      /^No part has "no such part" in its name:\nSimulated from seed 7 on\n[^]*\nKilled in every life\n/,
    ),
  })
})

test('the crash harness finds parts by words in their names, in any case', () => {
  const names = ['Killed in every life', 'Killed at each moment', 'Readers who leave']
  expect(namesWith('KILLED', names)).toEqual(names.slice(0, 2))
  expect(namesWith('', names)).toEqual(names)
  expect(() => namesWith('life of', names)).toThrow(`No part has "life of" in its name:\n${names.join('\n')}`)
})

test('the crash harness refuses a number of runs that is none', () => {
  expect(run('test/faults/main.ts', '--runs', 'many')).toEqual({
    ...{ status: 2, stdout: '' },
    stderr: '--runs takes a whole number from 1 on, not "many".\n',
  })
})

test('the bench refuses a part that it does not have, and lists those that it has', () => {
  expect(run('test/bench/main.ts', 'search', 'flod')).toEqual({
    ...{ status: 2, stdout: '' },
    stderr: expect.stringMatching(/^There is no part "flod"\. The parts: cost, [^]*, recall FOLDER\n$/),
  })
})
