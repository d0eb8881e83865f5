import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, expect, test } from 'vitest'
import { BOUNDS } from './fixtures/bundle-bounds.ts'

const run = promisify(execFile)
const KIB = 1024
const out = mkdtempSync(join(tmpdir(), 'edgecall-bundle-'))

afterAll(() => rmSync(out, { recursive: true }))

/** What `wrangler deploy` would upload, built from the real configuration. */
async function bundle(config: string, ...flags: string[]): Promise<string> {
  const folder = mkdtempSync(join(out, 'built-'))
  const env = { ...process.env, CI: '1', WRANGLER_SEND_METRICS: 'false' }
  await run('wrangler', ['deploy', '--dry-run', '--outdir', folder, '-c', config, ...flags], { env })
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.js'))
  return readFileSync(join(folder, file), 'utf8')
}

test('a one-tool Worker stays under its bound and contains no code of the edge and no JSON Schema checker', async () => {
  const code = await bundle('test/fixtures/one-tool/wrangler.toml')
  expect(gzipSync(code).byteLength).toBeLessThan(BOUNDS.tool * KIB)
  for (const foreign of ['hono', 'chat/completions', 'run.finished', 'CREATE TABLE', 'unevaluatedItems'])
    expect(code).not.toContain(foreign)
})

test('the edge Worker with all providers and surfaces stays under its bound and contains no forbidden library', async () => {
  const code = await bundle('wrangler.toml', '--minify')
  expect(gzipSync(code).byteLength).toBeLessThan(BOUNDS.full * KIB)
  // The authorization server, with its library, has a door of its own.
  for (const foreign of ['ZodError', 'ajv', '@ai-sdk', 'OAUTH_KV']) expect(code).not.toContain(foreign)
})

/** What a module of `src` is bundled to. */
async function built(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: 'src' },
    bundle: true,
    minify: true,
    format: 'esm',
    charset: 'utf8',
    external: ['cloudflare:*', 'node:*'],
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

test('the schemes of webhooks stay under their bound, and enter only an edge that names them', async () => {
  const door = "export { createEdge, triggers, webhookTrigger } from './edge.ts'"
  const names = Object.keys(await import('../src/triggers/services.ts'))
  const [without, withAll] = await Promise.all(
    [door, `${door}\nexport { ${names.join()} } from './edge.ts'`].map(built),
  )
  const headers = /(?:svix|stripe|hub|slack|hmac|twilio|x)-?(?:signature|sha256)[-\w]*/g
  expect([...new Set(without?.match(headers))]).toEqual([])
  expect(names.length).toBe(9)
  expect(new Set(withAll?.match(headers)).size).toBeGreaterThan(5)
  const weigh = (code = '') => gzipSync(code).byteLength
  expect(weigh(withAll) - weigh(without)).toBeLessThan(BOUNDS.webhooks * KIB)
})

test('the table of words of tools stays under its bound, and enters only an edge that names it', async () => {
  const without = await built("import { toolSearch } from './edge.ts'\nexport default toolSearch()")
  const table = await built("export { toolWords } from './search/tool-words.ts'")
  expect([without.includes('天气'), table.includes('天气')]).toEqual([false, true])
  expect(gzipSync(table).byteLength).toBeLessThan(BOUNDS.toolWords * KIB)
})

test('the door of the authorization server stays under its bound', async () => {
  const { outputFiles } = await build({
    entryPoints: ['src/oauth.ts'],
    bundle: true,
    minify: true,
    format: 'esm',
    external: ['cloudflare:workers'],
    write: false,
  })
  expect(gzipSync(outputFiles[0]?.contents ?? '').byteLength).toBeLessThan(BOUNDS.oauth * KIB)
})

test('an edge that names few parts contains no others, and stays under its bound', async () => {
  const code = await bundle('test/fixtures/core-edge/wrangler.toml', '--minify')
  expect(gzipSync(code).byteLength).toBeLessThan(BOUNDS.core * KIB)
  for (const foreign of [
    'TEXT_MESSAGE_START',
    'tool-input-available',
    'generativelanguage',
    'api.anthropic.com',
    'mcp-protocol-version',
    'tool_search',
    'openapi',
  ])
    expect(code).not.toContain(foreign)
})

test('the offline model is a Worker of its own and not part of the edge', async () => {
  const [edge, offline] = await Promise.all([bundle('wrangler.toml'), bundle('tools/offline/wrangler.toml')])
  const words = 'offline model that works by fixed rules'
  expect(offline).toContain(words)
  expect(edge).not.toContain(words)
})
