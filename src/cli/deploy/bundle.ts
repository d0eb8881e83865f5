import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { canonicalJson, isObject } from '../../contract/json.ts'
import type { Target } from '../check/target.ts'
import { Failure } from '../failure.ts'
import { spawnWrangler, UNATTENDED } from '../wrangler.ts'

/** A Worker as it will be uploaded: what is checked is what is deployed, byte by byte. */
export interface Bundle {
  readonly target: Target
  /** The folder of its modules. */
  readonly folder: string
  /** The path of the configuration that uploads the modules as they are. */
  readonly config: string
  /** SHA-256 of the modules and the configuration, in hex. */
  readonly hash: string
  /** Bytes of the modules, without source maps. */
  readonly size: number
  readonly gzip: number
}

export interface BundleOptions {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
}

/** Makes the bundle of a Worker. */
export type MakeBundle = (target: Target, options: BundleOptions) => Promise<Bundle>

/** Builds a Worker with wrangler; needs no account and no network. Throws a Failure with wrangler's errors. */
export const makeBundle: MakeBundle = async (target, { root, env }) => {
  // The folder is the same each time, because source maps hold paths that are relative to it.
  const folder = join(root, '.wrangler/edgecall', target.name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const section = target.section === undefined ? [] : ['--env', target.section]
  const args = ['deploy', '-c', target.config, ...section, '--dry-run', '--minify', '--outdir', folder]
  const child = spawnWrangler(args, { root, env: { ...env, ...UNATTENDED }, stdio: ['ignore', 'pipe', 'pipe'] })
  if (!child.stdout || !child.stderr) throw new Failure('wrangler could not be started.')
  const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (child.exitCode !== 0) {
    throw new Failure(`${target.config}: ${target.name} does not build.`, `${out}${problems}`.trim())
  }
  rmSync(join(folder, 'README.md'), { force: true })
  return seal(target, folder)
}

/** Writes the configuration of a built Worker beside its modules, and computes its hash. */
function seal(target: Target, folder: string): Bundle {
  const modules = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.map'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  const main = modules.find((file) => /^index\.m?js$/.test(file.slice(folder.length + 1))) ?? modules.find(isScript)
  if (main === undefined) throw new Failure(`${target.config}: wrangler built no module of ${target.name}.`)
  const settings = uploadSettings(target, `./${main.slice(folder.length + 1)}`)
  const config = join(folder, 'wrangler.json')
  writeFileSync(config, `${JSON.stringify(settings, null, 2)}\n`)
  const hash = createHash('sha256').update(canonicalJson(settings))
  let [size, gzip] = [0, 0]
  for (const file of modules) {
    const bytes = readFileSync(file)
    hash.update(`\n${file.slice(folder.length)} ${bytes.length}\n`).update(bytes)
    size += bytes.length
    gzip += gzipSync(bytes).length
  }
  return { target, folder, config, hash: hash.digest('hex'), size, gzip }
}

function isScript(file: string): boolean {
  return /\.m?js$/.test(file)
}

/** The settings that only a build reads, or that wrangler adds when it reads a configuration. */
const LEFT_OUT = new Set([
  'alias',
  'base_dir',
  'build',
  'configPath',
  'define',
  'definedEnvironments',
  'dev',
  'find_additional_modules',
  'jsx_factory',
  'jsx_fragment',
  'keep_names',
  'main',
  'minify',
  'no_bundle',
  'preserve_file_names',
  'python_modules',
  'rules',
  'targetEnvironment',
  'topLevelName',
  'tsconfig',
  'userConfigPath',
])

function uploadSettings({ settings }: Target, main: string): Readonly<Record<string, unknown>> {
  const set = Object.entries(settings).filter(([key, value]) => !LEFT_OUT.has(key) && !isEmpty(value))
  const rules = [
    { type: 'ESModule', globs: ['**/*.js', '**/*.mjs'] },
    { type: 'Text', globs: ['**/*.txt', '**/*.html', '**/*.sql'] },
    { type: 'CompiledWasm', globs: ['**/*.wasm'] },
    { type: 'Data', globs: ['**/*.bin'] },
  ]
  return { ...Object.fromEntries(set), main, no_bundle: true, find_additional_modules: true, rules }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.values(value).every(isEmpty)
}
