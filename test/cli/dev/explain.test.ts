import { expect, test } from 'vitest'
import { explainOutput } from '../../../src/cli/dev/explain.ts'
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

test('other output is not explained', () => {
  expect(explainOutput('✘ [ERROR] Address already in use', WORKERS)).toBe(undefined)
})
