import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examples } from './examples.ts'
import { type Block, pageOf, pages, ROOT } from './pages.ts'

const run = promisify(execFile)
let folder = ''
let errors: readonly string[] = []
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/**
 * Type-checks blocks in one program against the doors of the package. A block is a module; one whose first line is a
 * path (`// tools/dice/index.ts`) can be imported by the others of its page. Errors have the line of the page.
 */
async function typeErrors(blocks: readonly Block[]): Promise<string> {
  // In the folder of the tests, so that the client libraries are found. tsc skips folders with a dot by itself.
  folder = mkdtempSync(join(ROOT, 'test/docs/.code-'))
  for (const { page, line, language, text, given } of blocks) {
    const [, path] = /^\/\/ ([\w./-]+\.tsx?)\n/.exec(text) ?? []
    const file = join(folder, page.replaceAll('/', '-'), path ?? `line-${line}.${language}`)
    mkdirSync(dirname(file), { recursive: true })
    const before = given.replaceAll('\n', ' ')
    writeFileSync(file, `${before}${'\n'.repeat(line - 1)}${text}\nexport {}\n`)
  }
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false, jsx: 'preserve' }
  const config = {
    extends: '../../../tsconfig.json',
    compilerOptions,
    include: ['**/*', '../../../src/html.d.ts'],
    exclude: [],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { stdout } = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  )
  return stdout
}

/** The blocks of pages. The code of other libraries, which are not installed here, is shown beside ours when migrating. */
const blocks = pages()
  .flatMap((page) => page.blocks)
  .filter(({ language, kind }) => /^tsx?$/.test(language) && kind !== 'foreign')

beforeAll(async () => {
  const wrong = "# Page\n\n```ts\nimport { createEdge } from 'edgecall'\n\ncreateEdge({ providers: 1 })\n```\n"
  const output = await typeErrors([...blocks, ...examples(), ...pageOf('wrong.md', wrong).blocks])
  errors = output.split('\n').filter((line) => /^\S/.test(line))
})

test('every TypeScript block in the documentation compiles, and errors are reported with the line of the page', () => {
  expect(blocks.length).toBeGreaterThan(20)
  const ofPages = errors.filter((error) => !error.startsWith('src-'))
  expect(ofPages.map((error) => error.replace(/ error (TS\d+): .*/, ' $1'))).toEqual([
    'wrong.md/line-4.ts(6,14): TS2322',
  ])
})

test('every example in a docstring compiles with the exports of the doors', () => {
  expect(examples().length).toBeGreaterThan(40)
  expect(errors.filter((error) => error.startsWith('src-'))).toEqual([])
})
