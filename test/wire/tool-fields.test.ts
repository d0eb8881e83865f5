import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { definitionsWorker } from '../fixtures/definitions.ts'
import { FULL } from '../fixtures/full-definition.ts'
import { TOOL_FIELDS, toolFields } from '../../src/wire/tool-fields.ts'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname

test('stored tools and bound tools have the same fields, except those that functions decide', () => {
  const [worker, stored] = [toolFields('worker'), toolFields('stored')].map(Object.keys)
  expect(stored).toEqual(Object.keys(FULL))
  expect(worker?.filter((field) => !stored?.includes(field))).toEqual([
    'ownName',
    'hash',
    'reconcile',
    'undo',
    'later',
    'callsTools',
  ])
  expect(Object.keys(TOOL_FIELDS).filter((field) => !worker?.includes(field))).toEqual([
    'modelMayApprove',
    'aliasOf',
    'atProvider',
    'forms',
  ])
})

test('every field of a stored definition reaches the tool', async () => {
  const stored = await definitionsWorker().write('pay', { ...FULL, static: { structured: {} } }, {})
  expect(stored).toMatchObject({
    ok: true,
    read: { definition: { ...FULL, hash: expect.any(String) } },
    warnings: [{ path: 'history', message: 'has no effect: only code and aliases read the messages' }],
  })
})

test('a new field needs entries in two files: the type of a definition, and the table that the compiler then demands', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'fields-'))
  try {
    cpSync(join(ROOT, 'src'), join(copy, 'src'), { recursive: true })
    for (const name of ['node_modules', 'tsconfig.json', 'package.json'])
      symlinkSync(join(ROOT, name), join(copy, name))
    const compile = async (): Promise<string[]> => {
      const { stdout } = await run('node_modules/.bin/tsc', ['--noEmit', '--project', '.'], { cwd: copy }).catch(
        (error: { stdout: string }) => error,
      )
      return [...stdout.matchAll(/^(src\/[\w/.-]+)\(/gm)].map(([, path = '']) => path)
    }
    const replace = (path: string, before: string, after: string) => {
      const file = join(copy, path)
      writeFileSync(file, readFileSync(file, 'utf8').replace(before, `${after}${before}`))
    }
    replace('src/contract/tool-definition.ts', '  readonly metadata?: JsonObject', '  readonly region?: string\n')
    expect(await compile()).toEqual(['src/wire/tool-fields.ts'])
    const both = 'v.exactOptional(v.string())'
    replace('src/wire/tool-fields.ts', '  metadata: {', `  region: { worker: ${both}, stored: ${both} },\n`)
    expect(await compile()).toEqual([])
  } finally {
    rmSync(copy, { recursive: true })
  }
})
