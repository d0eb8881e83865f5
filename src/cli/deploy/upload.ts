import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { isObject } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { spawnWrangler, UNATTENDED } from '../wrangler.ts'
import type { Bundle } from './bundle.ts'

export interface WranglerRun {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
}

export interface Upload extends WranglerRun {
  readonly bundle: Bundle
  /** Marks the version as one of this project, see `messageOf`. */
  readonly message: string
  /** The secrets to set with this version, by name. */
  readonly secrets: Readonly<Record<string, string>>
}

export interface Uploaded {
  readonly version: string
  /** Where the Worker is reached, if it has an address. */
  readonly address?: string
}

/** The tag of a version: the beginning of the bundle's hash, since Cloudflare takes 25 characters. */
export function tagOf(hash: string): string {
  return `edgecall-${hash.slice(0, 16)}`
}

/** The message of a version, by which it is known as one of this project. */
export function uploadMessage(project: string, attempt: string): string {
  return `edgecall ${project} ${attempt}`
}

/** Returns whether a version was uploaded for this project. */
export function isOurs(message: string, project: string): boolean {
  return message.startsWith(`edgecall ${project} `)
}

/** Uploads a bundle as a new version and sends all requests to it. Throws a Failure with wrangler's reason. */
export async function deployBundle(upload: Upload): Promise<Uploaded> {
  const entry = await uploadWith(upload, ['deploy'], 'deploy')
  const [address] = Array.isArray(entry['targets']) ? entry['targets'] : []
  return {
    version: String(entry['version_id']),
    ...(typeof address === 'string' && { address: /^https?:/.test(address) ? address : `https://${address}` }),
  }
}

/** Uploads a bundle as a new version that no request reaches. */
export async function uploadVersion(upload: Upload): Promise<string> {
  return String((await uploadWith(upload, ['versions', 'upload'], 'version-upload'))['version_id'])
}

async function uploadWith(upload: Upload, command: string[], type: string): Promise<Readonly<Record<string, unknown>>> {
  const { bundle, message, secrets } = upload
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-upload-'))
  try {
    const file = join(folder, 'secrets.json')
    if (Object.keys(secrets).length > 0) writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 })
    const secretArgs = Object.keys(secrets).length > 0 ? ['--secrets-file', file] : []
    const args = [...command, '-c', bundle.config, '--tag', tagOf(bundle.hash), '--message', message, ...secretArgs]
    return await runWrangler(upload, { args, type, what: `${bundle.target.name} was not uploaded` })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Divides the requests of a Worker among versions, in percent. */
export async function shareTraffic(
  run: WranglerRun,
  { worker, shares, message }: { worker: string; shares: Readonly<Record<string, number>>; message: string },
): Promise<void> {
  const specs = Object.entries(shares).map(([version, percent]) => `${version}@${percent}%`)
  const args = ['versions', 'deploy', ...specs, '--name', worker, '-y', '--message', message]
  await runWrangler(run, { args, type: 'version-deploy', what: `The versions of ${worker} were not changed` })
}

/** Creates a KV namespace. */
export async function createNamespace(run: WranglerRun, title: string): Promise<void> {
  await runWrangler(run, { args: ['kv', 'namespace', 'create', title], what: `${title} was not created` })
}

/**
 * Runs wrangler unattended and returns the entry of this type of its output file. Throws a Failure with wrangler's
 * reason in one line.
 */
async function runWrangler(
  { root, env }: WranglerRun,
  { args, type, what }: { readonly args: readonly string[]; readonly type?: string; readonly what: string },
): Promise<Readonly<Record<string, unknown>>> {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-wrangler-'))
  const output = join(folder, 'output.ndjson')
  try {
    const child = spawnWrangler(args, {
      root,
      env: { ...env, ...UNATTENDED, WRANGLER_OUTPUT_FILE_PATH: output },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (!child.stdout || !child.stderr) throw new Failure('wrangler could not be started.')
    const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    if (child.exitCode !== 0) throw new Failure(`${what}: ${reasonOf(problems === '' ? out : problems)}`)
    if (type === undefined) return {}
    const entries = readFileSync(output, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): unknown => JSON.parse(line))
    const entry = entries.filter(isObject).find((each) => each['type'] === type)
    if (entry) return entry
    throw new Failure(`${what}: wrangler does not tell the version.`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the error of wrangler's output as one line. */
function reasonOf(output: string): string {
  const lines = stripVTControlCharacters(output).split('\n')
  const from = lines.findIndex((line) => line.includes('[ERROR]'))
  const text = lines.slice(Math.max(from, 0)).join(' ').replace(/\s+/g, ' ')
  return text
    .replace(/^.*?\[ERROR\] /, '')
    .replace(/ If you think this is a bug.*$/, '')
    .trim()
}
