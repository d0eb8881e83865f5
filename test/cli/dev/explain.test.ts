import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { explainBlocks, explainOutput } from '../../../src/cli/dev/explain.ts'
import type { Worker, Workers } from '../../../src/cli/workers.ts'

function worker(name: string, folder: string, main: string): Worker {
  const config = `${folder}wrangler.toml`
  return { name, config, main, vars: {}, services: new Map(), tools: new Map() }
}

const WORKERS: Workers = {
  root: '/project',
  edge: worker('my-edge', '', 'src/index.ts'),
  tools: [
    worker('my-dice', 'tools/dice/', 'tools/dice/dice.ts'),
    worker('my-mail', 'tools/mail/', 'tools/mail/index.ts'),
  ],
}

test('an explanation names the file of a Worker that throws when it is loaded', () => {
  const output = `✘ [ERROR] service core:user:my-mail: Uncaught Error: boom at module scope\n\n    at null.<anonymous> (index.js:1906:7)\n`
  expect(explainOutput(output, WORKERS)).toBe(
    'tools/mail/index.ts throws as it loads: boom at module scope. None of it runs until that is corrected.',
  )
})

test('an explanation names the file and the line of a build error', () => {
  const output = `✘ [ERROR] Build failed with 1 error:\n\n  ✘ [ERROR] Unexpected end of file\n  \n      dice.ts:16:0:\n        16 │ \n`
  expect(explainOutput(output, WORKERS)).toBe('tools/dice/dice.ts:16:0: Unexpected end of file')
})

/** A project whose tools all have their code in files of the same name. */
function projectWith(files: Readonly<Record<string, string>>): Workers {
  const root = mkdtempSync(join(tmpdir(), 'explain-test-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const tools = Object.keys(files).map((path) => worker(path, `${dirname(path)}/`, path))
  return { root, edge: worker('my-edge', '', 'src/index.ts'), tools }
}

const SYNTAX = `✘ [ERROR] Build failed with 1 error:

  ✘ [ERROR] Unexpected ";"
  \n      index.ts:2:10:
        2 │ const x = ;
          ╵           ^
  

`

test('an explanation names the one of several Workers whose file has the line', () => {
  const broken = 'const a = 1\nconst x = ;\n'
  const well = 'const a = 1\nconst x = 2\n'
  const workers = projectWith({ 'tools/a/index.ts': well, 'tools/b/index.ts': broken, 'tools/c/index.ts': 'a' })
  expect(explainOutput(SYNTAX, workers)).toBe('tools/b/index.ts:2:10: Unexpected ";"')
  const both = projectWith({ 'tools/a/index.ts': broken, 'tools/b/index.ts': broken })
  expect(explainOutput(SYNTAX, both)).toBe('tools/a/index.ts or tools/b/index.ts:2:10: Unexpected ";"')
})

test('the block about a failed build becomes one line for each error, and other lines stay', () => {
  const lines: string[] = []
  const read = explainBlocks(projectWith({ 'tools/b/index.ts': 'one\nconst x = ;' }), {
    explain: (line) => lines.push(line),
    pass: (line) => lines.push(`| ${line}`),
  })
  const noFile = '✘ [ERROR] Build failed with 1 error:\n\n  ✘ [ERROR] The entry-point file was not found.\n  \n  \n'
  for (const line of ['Before', ...SYNTAX.split('\n'), ...noFile.split('\n'), 'After', '  indented'].values())
    read(line)
  expect(lines).toEqual([
    '| Before',
    'tools/b/index.ts:2:10: Unexpected ";".',
    'The entry-point file was not found.',
    '| After',
    '|   indented',
  ])
})

test('other output is not explained', () => {
  const workers = projectWith({ 'src/index.ts': '', 'tools/b/index.ts': '' })
  expect(explainOutput('✘ [ERROR] Address already in use', workers)).toBe(undefined)
})

test('an explanation names the main module that is not there', () => {
  const workers = projectWith({ 'src/index.ts': '', 'tools/b/index.ts': '' })
  rmSync(join(workers.root, 'tools/b/index.ts'))
  const text = 'There is no tools/b/index.ts, which is the main module in tools/b/wrangler.toml'
  expect(explainOutput('goroutine 2995 [chan send]:', workers)).toBe(text)
  const error = `✘ [ERROR] Build failed with 1 error:

  ✘ [ERROR] Could not resolve "${workers.root}/tools/b/index.ts"
  \n      .wrangler/tmp/bundle/middleware.js:1:43:
        1 │ import worker from "${workers.root}/tools/b/index.ts";
`
  const lines: string[] = []
  const read = explainBlocks(workers, { explain: (line) => lines.push(line), pass: (line) => lines.push(line) })
  for (const line of error.split('\n')) read(line)
  expect(lines).toEqual([`${text}.`])
})
