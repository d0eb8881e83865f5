import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname

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
    expect([...new Set(files)].sort()).toEqual([
      'src/cli/document/events.ts',
      'src/cli/print.ts',
      'src/loop/fold.ts',
      'src/observe/log.ts',
      'src/observe/spans.ts',
      'src/wire/client/ag-ui/events.ts',
      'src/wire/client/blocks.ts',
      'src/wire/client/openai-responses/answer.ts',
      'src/wire/client/ui-message/stream.ts',
      'src/wire/client/visible-text.ts',
      'src/wire/events.ts',
    ])
  } finally {
    rmSync(copy, { recursive: true })
  }
})
