import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { UNATTENDED } from '../../src/cli/wrangler.ts'

const out = mkdtempSync(join(tmpdir(), 'edgecall-product-'))

afterAll(() => rmSync(out, { recursive: true }))

/** The harness watches from outside: there is nothing in the product that could be left switched on. */
test('deployed code contains no failpoint and no part of the harness', async () => {
  const args = ['deploy', '--dry-run', '--outdir', out, '-c', 'wrangler.toml']
  await promisify(execFile)('wrangler', args, { env: { ...process.env, ...UNATTENDED } })
  const code = readdirSync(out)
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(out, file), 'utf8'))
    .join('\n')
  expect(code).toContain('run.finished')
  expect(code).not.toMatch(/fail-?_?point|fault-?_?inject|chaos|\bRECORDER\b|tellsOutcome/i)
})
