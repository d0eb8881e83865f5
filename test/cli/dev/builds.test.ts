import * as esbuild from 'esbuild'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { withoutPolling } from '../../../src/cli/dev/builds.ts'
import { SAVES } from './saves.ts'

let root = ''
/** What the module of each build exports, or why the build failed. */
let builds: string[]
/** How often esbuild was stopped, for the project of the test alone. */
let stops: { count: number }

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'builds-test-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  builds = []
  stops = { count: 0 }
  mkdirSync(join(root, 'src/words'), { recursive: true })
  mkdirSync(join(root, 'texts'))
  write(
    'src/index.ts',
    `import { word } from './words/one.ts'\nimport text from '../texts/page.txt'\nexport default word + text`,
  )
  write('src/words/one.ts', `export const word = 'one'`)
  write('texts/page.txt', '!')
  await follow()
})

function write(file: string, text: string): void {
  writeFileSync(join(root, file), text)
}

/** Follows the files of `src/index.ts`; a plugin reads the texts, as wrangler's does. */
async function follow(): Promise<void> {
  const own = stops
  const counted = { build: esbuild.build, stop: async () => void own.count++ }
  const { context } = withoutPolling(counted, root)
  const texts: esbuild.Plugin = {
    name: 'texts',
    setup: (build) => {
      build.onResolve({ filter: /\.txt$/ }, ({ path, resolveDir }) => {
        const file = join(resolveDir, path)
        return { path: file, namespace: 'texts', watchFiles: [file] }
      })
      build.onLoad({ filter: /.*/, namespace: 'texts' }, ({ path }) => ({
        contents: readFileSync(path, 'utf8'),
        loader: 'text',
      }))
    },
  }
  const ends: esbuild.Plugin = {
    name: 'ends',
    setup: (build) => {
      build.onEnd(async ({ errors, outputFiles: [output] = [] }) => {
        const code = `data:text/javascript,${encodeURIComponent(output?.text ?? '')}`
        builds.push(output ? String((await import(code)).default) : errors.map(({ text }) => text).join(' '))
      })
    },
  }
  const watched = await context({
    ...{
      entryPoints: [join(root, 'src/index.ts')],
      absWorkingDir: root,
      bundle: true,
      format: 'esm',
      write: false,
      logLevel: 'silent',
    },
    plugins: [texts, ends],
  })
  onTestFinished(() => watched.dispose())
  await watched.watch()
  await built('one!')
}

/** Waits until the newest build has a result. A build is repeated if a file was written just before it: the result counts. */
async function built(result: string): Promise<void> {
  await vi.waitFor(() => expect(builds.at(-1)).toBe(result), 200_000)
}

describe('a Worker is built again each time that one of its files is saved', () => {
  test.each(Object.entries(SAVES))('%s', async (_, save) => {
    for (const word of ['two', 'six']) {
      save(join(root, 'src/words/one.ts'), `export const word = '${word}'`)
      await built(`${word}!`)
    }
  })
})

test('a file that a plugin has read is followed too', async () => {
  write('texts/page.txt', '?')
  await built('one?')
})

test('a file that the Worker does not import builds nothing', async () => {
  // esbuild is stopped once the builds of the first files are over.
  await vi.waitFor(() => expect(stops.count).toBe(1), 200_000)
  builds.length = 0
  write('src/other.ts', 'export {}')
  write('src/words/one.ts', `export const word = 'two'`)
  await built('two!')
  expect(new Set(builds)).toEqual(new Set(['two!']))
})

test('a failed build is repeated when what is missing is made, wherever that is', async () => {
  write('src/words/one.ts', `export { word } from '../../lib/deep/word.ts'`)
  await built('Could not resolve "../../lib/deep/word.ts"')
  mkdirSync(join(root, 'lib/deep'), { recursive: true })
  write('lib/deep/word.ts', `export const word = 'deep'`)
  await built('deep!')
})

test('esbuild is stopped once there is nothing to build, and started for the next build', async () => {
  await vi.waitFor(() => expect(stops.count).toBe(1), 200_000)
  write('src/words/one.ts', `export const word = 'two'`)
  await built('two!')
  await vi.waitFor(() => expect(stops.count).toBe(2), 200_000)
})
