import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { TOOL_DEFINITION } from '../../src/cli/document/document.ts'
import { toolFieldsText } from '../../src/cli/document/tool-fields.ts'
import { definitionsWorker } from '../fixtures/definitions.ts'
import { describeBinding } from '../../src/host/worker/describe.ts'
import { TOOL_FIELDS, toolFields } from '../../src/wire/tool-fields.ts'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname

/** A definition with every field that an author may set. */
const FULL = {
  name: 'pay',
  title: 'Pay',
  description: 'Pays an invoice.',
  instructions: 'Ask before you pay.',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
  outputSchema: { type: 'object' },
  version: '1.2.0',
  annotations: {
    readOnly: false,
    idempotent: true,
    destructive: true,
    openWorld: false,
    untrusted: true,
    private: true,
  },
  returnDirect: 'if-last',
  approval: { unless: { '/amount': { maximum: 10 } } },
  timeoutMs: 1000,
  maxResultBytes: 2000,
  exclusive: 'payments',
  maxConcurrent: 2,
  history: true,
  strict: true,
  tags: ['money'],
  metadata: { team: 'billing' },
}

test('stored tools and bound tools have the same fields, except those that functions decide', () => {
  const [worker, stored] = [toolFields('worker'), toolFields('stored')].map(Object.keys)
  expect(stored).toEqual(Object.keys(FULL))
  expect(worker?.filter((field) => !stored?.includes(field))).toEqual([
    'hash',
    'reconcile',
    'undo',
    'later',
    'callsTools',
  ])
  expect(Object.keys(TOOL_FIELDS).filter((field) => !worker?.includes(field))).toEqual(['aliasOf'])
})

test('every field of a stored definition reaches the tool, and every field of a bound one reaches the host', async () => {
  const stored = await definitionsWorker().write('pay', { ...FULL, static: { structured: {} } }, {})
  expect(stored).toMatchObject({
    ok: true,
    read: { definition: { ...FULL, hash: expect.any(String) } },
    warnings: [{ path: 'history', message: 'has no effect: only code and aliases read the messages' }],
  })
  const definition = { ...FULL, hash: 'h', reconcile: true, undo: true, callsTools: true }
  const binding = { describe: async () => ({ contract: 1, tools: [definition] }) }
  expect(await describeBinding(binding, { now: () => 0, timeoutMs: 1000 })).toEqual({
    ok: true,
    transport: 'rpc',
    tools: [definition],
  })
})

test('docs/tool-definition.md is made from this code: else run `npm run openapi`', () => {
  expect(readFileSync(join(ROOT, TOOL_DEFINITION), 'utf8')).toBe(toolFieldsText())
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
    replace('src/contract/tool.ts', '  readonly metadata?: JsonObject', '  readonly region?: string\n')
    expect(await compile()).toEqual(['src/wire/tool-fields.ts'])
    const both = 'v.exactOptional(v.string())'
    replace('src/wire/tool-fields.ts', '  metadata: {', `  region: { worker: ${both}, stored: ${both} },\n`)
    expect(await compile()).toEqual([])
  } finally {
    rmSync(copy, { recursive: true })
  }
}, 120_000)
