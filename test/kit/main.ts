/**
 * `npm run test:kit`: packs the package, installs it into a project outside of this repository, and builds, checks and
 * runs the project's edge and tool Worker; deploys to a stand-in of an account with every write failing; and walks the
 * path of a person from an empty folder to an upgrade. Needs the registry, for the package's dependencies.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { createTestHarness } from 'wrangler'

import { BOUNDS } from '../fixtures/bundle-bounds.ts'
import { checkDeploy } from './deploy.ts'
import { checkAdoption, checkRollOut } from './roll-out.ts'
import { followDocs } from './newcomer.ts'
import { walkPath } from './person.ts'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'edgecall-kit-'))
const project = join(folder, 'project')
const began = Date.now()
const UNATTENDED = { ...process.env, CI: '1', WRANGLER_SEND_METRICS: 'false' }

try {
  await step('npm pack gives compiled modules and their types, and publint finds nothing', pack)
  await step('the package installs into a project of its own, with eight dependencies', install)
  await step('the project’s types are clean, those of the package included', checkTypes)
  await step('internal modules cannot be imported', refuseInternals)
  await step('the edge’s bundle has what it names and no more; the tool Worker is under 20 KiB gzip', bundle)
  await step('the edge finds the tool Worker and calls it', call)
  await step('a deployment that fails at any write can be continued and rolled back', async () => {
    console.log(`  ${await checkDeploy()} failures tried`)
  })
  await step('a new version of one Worker gets a part of the requests, then all, and is taken back', checkRollOut)
  await step('a Worker of another project is overwritten only if it is adopted by name', checkAdoption)
  await walkPath(folder, tarball(), step)
  await followDocs(folder, tarball(), step)
  console.log(`All passed in ${Math.round((Date.now() - began) / 1000)} s`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function step(name: string, work: () => Promise<void>): Promise<void> {
  const start = Date.now()
  await work()
  console.log(`✓ ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`)
}

async function pack(): Promise<void> {
  await run('npm', ['pack', '--pack-destination', folder], { cwd: ROOT })
  const { stdout } = await run('tar', ['tzf', tarball()])
  const files = stdout.trim().split('\n')
  const foreign = files.filter(
    (file) => !/^package\/(?:dist\/|docs\/|examples\/|package\.json$|README\.md$|LICENSE$|CHANGELOG\.md$)/.test(file),
  )
  assert.deepEqual(foreign, [], 'only the compiled code, its documents and the examples are packed')
  const inDist = files.filter((file) => /^package\/dist\/(?:test|tools)\//.test(file))
  assert.deepEqual(inDist, [], 'no tests or tools are packed')
  const { messages, pkg } = await publint({ pkgDir: ROOT, strict: true })
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  )
}

/** The path of the packed package. */
function tarball(): string {
  return join(folder, readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '')
}

async function install(): Promise<void> {
  cpSync(join(ROOT, 'test/kit/project'), project, { recursive: true })
  const dependencies = { edgecall: `file:${tarball()}`, valibot: '*' }
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type: 'module', dependencies }),
  )
  await run('npm', ['install', '--no-audit', '--no-fund'], { cwd: project })
  const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))
  assert.deepEqual(installed, [
    '@cloudflare',
    '@valibot',
    'argparse',
    'croner',
    'edgecall',
    'hono',
    'js-yaml',
    'postal-mime',
    'smol-toml',
    'undici',
    'valibot',
  ])
  // A project brings wrangler and these types itself: the package does not install them.
  mkdirSync(join(project, 'node_modules/@cloudflare'), { recursive: true })
  symlinkSync(
    join(ROOT, 'node_modules/@cloudflare/workers-types'),
    join(project, 'node_modules/@cloudflare/workers-types'),
  )
}

async function checkTypes(): Promise<void> {
  for (const resolution of ['bundler', 'nodenext']) {
    const module = resolution === 'bundler' ? 'esnext' : resolution
    const options = ['--module', module, '--moduleResolution', resolution]
    const { stdout } = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project, ...options]).catch(
      (error) => error,
    )
    assert.equal(stdout, '')
  }
}

async function refuseInternals(): Promise<void> {
  const code =
    "import('edgecall/dist/edge/setup.js').then(() => console.log('imported'), ({ code }) => console.log(code))"
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { cwd: project })
  assert.equal(stdout.trim(), 'ERR_PACKAGE_PATH_NOT_EXPORTED')
}

async function bundle(): Promise<void> {
  const sizeOf = async (config: string) => {
    const out = join(folder, `out-${config.replaceAll('/', '-')}`)
    const args = ['deploy', '--dry-run', '--minify', '-c', config, '--outdir', out]
    const { stdout } = await run(join(ROOT, 'node_modules/.bin/wrangler'), args, { cwd: project, env: UNATTENDED })
    return { files: readdirSync(out), gzip: Number(/gzip: ([\d.]+) KiB/.exec(stdout)?.[1]) }
  }
  const edge = await sizeOf('wrangler.toml')
  // The pages are texts beside the code of an edge that names them.
  assert.deepEqual(
    edge.files.filter((file) => /\.(?:html|txt)$/.test(file)),
    [],
  )
  // It is minified by the wrangler of the project, and names a little more than the smallest.
  assert.ok(edge.gzip < BOUNDS.core + 3, `the edge is ${edge.gzip} KiB`)
  const tool = await sizeOf('tools/hello/wrangler.toml')
  assert.ok(tool.gzip < 20, `the tool Worker is ${tool.gzip} KiB`)
  console.log(`  edge ${edge.gzip} KiB, tool Worker ${tool.gzip} KiB gzip`)
}

async function call(): Promise<void> {
  const workers = ['wrangler.toml', 'tools/hello/wrangler.toml'].map((configPath) => ({ configPath }))
  const server = createTestHarness({ root: project, workers })
  try {
    const { url } = await server.listen()
    const response = await fetch(new URL('/tools/hello/call', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ arguments: { name: 'Ada' } }),
    })
    const outcome: unknown = await response.json()
    assert.equal(response.status, 200)
    assert.deepEqual(
      { ...(outcome as object), durationMs: 0 },
      {
        ok: true,
        content: [{ type: 'text', text: 'Hello, Ada!' }],
        durationMs: 0,
      },
    )
  } finally {
    await server.close()
  }
}
