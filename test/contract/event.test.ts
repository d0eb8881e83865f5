import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, expectTypeOf, test } from 'vitest'
import { isNewsType, type RunFact, type RunNews } from '../../src/contract/event.ts'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname

/** Matches the files of the formats that clients read. */
const ENCODER = /^src\/wire\/client\/[^/]+\//

/** Returns the files of those formats that convert the events of runs. */
function encoders(): string[] {
  const files = globSync('src/wire/client/*/*.ts', { cwd: ROOT }).filter((path) =>
    /switch \((event|fact)\.type\)/.test(readFileSync(join(ROOT, path), 'utf8')),
  )
  expect(files.length).toBeGreaterThan(2)
  return files.sort()
}

test('the compiler names every consumer of events when the union gets a new event', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'events-'))
  try {
    cpSync(join(ROOT, 'src'), join(copy, 'src'), { recursive: true })
    for (const name of ['node_modules', 'tsconfig.json', 'package.json'])
      symlinkSync(join(ROOT, name), join(copy, name))
    const file = join(copy, 'src/contract/event.ts')
    const source = readFileSync(file, 'utf8')
    writeFileSync(
      file,
      source.replace('export type RunFact =', "export type RunFact =\n  | { readonly type: 'run.paused' }"),
    )
    const { stdout } = await run('node_modules/.bin/tsc', ['--noEmit', '--project', '.'], { cwd: copy }).catch(
      (error: { stdout: string }) => error,
    )
    const files = [...stdout.matchAll(/^(src\/[\w/.-]+)\(/gm)].map(([, path = '']) => path)
    expect([...new Set(files.filter((path) => !ENCODER.test(path)))].sort()).toEqual([
      'src/cli/document/events.ts',
      'src/cli/print.ts',
      'src/loop/fold.ts',
      'src/observe/log.ts',
      'src/observe/spans.ts',
      'src/wire/client/history.ts',
      'src/wire/client/visible-text.ts',
      'src/wire/events.ts',
    ])
    expect([...new Set(files.filter((path) => ENCODER.test(path)))].sort()).toEqual(encoders())
  } finally {
    rmSync(copy, { recursive: true })
  }
})

test('every news has a type that ends as news do, and no fact has', () => {
  const isNewsOf = (type: RunNews['type'] | RunFact['type']) => (isNewsType(type) ? type : undefined)
  expectTypeOf(isNewsOf).returns.toEqualTypeOf<RunNews['type'] | undefined>()
  expect(isNewsOf('call.delta')).toBe('call.delta')
  expect(isNewsOf('call.settled')).toBeUndefined()
})
