import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { type Block, pageOf, pages, ROOT } from './pages.ts'

const run = promisify(execFile)
let folder = ''
afterEach(() => rmSync(folder, { recursive: true, force: true }))

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

test('every TypeScript block in the documentation compiles, and errors are reported with the line of the page', async () => {
  const blocks = pages().flatMap((page) => page.blocks.filter(({ language }) => /^tsx?$/.test(language)))
  // The code of other libraries that are not installed here is shown beside ours when migrating.
  const own = blocks.filter(({ kind }) => kind !== 'foreign')
  expect(own.length).toBeGreaterThan(20)
  const wrong = "# Page\n\n```ts\nimport { createEdge } from 'edgecall'\n\ncreateEdge({ providers: 1 })\n```\n"
  const errors = await typeErrors([...own, ...pageOf('wrong.md', wrong).blocks])
  expect(errors.replace(/ error (TS\d+): .*/g, ' $1')).toBe('wrong.md/line-4.ts(6,14): TS2322\n')
})
