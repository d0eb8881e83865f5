import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { watchFolder } from '../../../src/cli/dev/watch.ts'
import { SAVES } from './saves.ts'

let root = ''
let paths: Set<string>

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'watch-test-'))
  for (const folder of ['src', 'tools/dice', 'data']) mkdirSync(join(root, folder), { recursive: true })
  for (const file of ['src/index.ts', 'tools/dice/index.ts', 'tools/dice/wrangler.toml', 'data/log']) write(file, 'old')
  const stop = new AbortController()
  onTestFinished(() => {
    stop.abort()
    rmSync(root, { recursive: true })
  })
  paths = new Set()
  const onChange = (changes: ReadonlySet<string>) => changes.forEach((path) => paths.add(path))
  watchFolder(root, onChange, { ignores: (folder) => folder === 'data', signal: stop.signal })
})

function write(file: string, text: string): void {
  writeFileSync(join(root, file), text)
}

/** Waits for the change of a file, and for no other. */
async function changeOf(file: string, ...others: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect(paths).toContain(file), 200_000)
  expect([...paths].filter((path) => path !== file && !others.includes(path))).toEqual([])
  paths.clear()
}

describe('the change of a file is noticed each time it is saved', () => {
  test.each(Object.entries(SAVES))('%s', async (_, save) => {
    const file = 'tools/dice/index.ts'
    for (const text of ['one', 'two', 'six']) {
      save(join(root, file), text)
      // The other file of the folder goes when the folder does.
      await changeOf(file, 'tools/dice/wrangler.toml')
    }
  })

  test('in all ways, one after another', async () => {
    const file = 'tools/dice/index.ts'
    for (const [name, save] of Object.entries(SAVES)) {
      save(join(root, file), name)
      await changeOf(file, 'tools/dice/wrangler.toml')
    }
  })
})

test('a file of a new folder is noticed, and its next change too', async () => {
  mkdirSync(join(root, 'tools/coin/deep'), { recursive: true })
  write('tools/coin/deep/index.ts', 'one')
  await changeOf('tools/coin/deep/index.ts')
  write('tools/coin/deep/index.ts', 'two')
  await changeOf('tools/coin/deep/index.ts')
})

test('a folder that is renamed is noticed under both names, and then followed under the new one', async () => {
  renameSync(join(root, 'src'), join(root, 'lib'))
  await changeOf('lib/index.ts', 'src/index.ts')
  write('lib/index.ts', 'new')
  await changeOf('lib/index.ts')
})

test('a deleted file is noticed', async () => {
  rmSync(join(root, 'src/index.ts'))
  await changeOf('src/index.ts')
})

test('a folder that is left out is not followed, nor links that lead back', async () => {
  symlinkSync('..', join(root, 'src/parent'))
  write('data/log', 'new')
  write('src/index.ts', 'new')
  await changeOf('src/index.ts')
})
