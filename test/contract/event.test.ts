import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, expectTypeOf, test } from 'vitest'
import { isNewsType, type RunFact, type RunNews } from '../../src/contract/event.ts'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname

test('the compiler asks for the fold, the schema and the line in the studio of a new event, and nothing else', async () => {
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
    const errorsIn = async (project: string) => {
      const { stdout } = await run('node_modules/.bin/tsc', ['--noEmit', '--project', project], { cwd: copy }).catch(
        (error: { stdout: string }) => error,
      )
      return [...stdout.matchAll(/^(src\/[\w/.-]+)\(/gm)].map(([, path = '']) => path)
    }
    expect([...new Set([...(await errorsIn('.')), ...(await errorsIn('src/studio'))])].sort()).toEqual([
      'src/cli/document/events.ts',
      'src/loop/fold.ts',
      'src/studio/run/fold.ts',
      'src/wire/events.ts',
    ])
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
