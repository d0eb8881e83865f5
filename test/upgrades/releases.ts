import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const REPOSITORY = join(import.meta.dirname, '../..')

/** Where the packed Workers of releases are, in a folder for each that begins with its date. */
const RELEASES = join(import.meta.dirname, '../fixtures/releases')

/** The Workers that store something: the folders of their configurations, and their code if it is not there. */
const STORING = {
  edge: { folder: '.', main: 'test/upgrades/edge/index.ts' },
  bookings: { folder: 'tools/bookings' },
  mcp: { folder: 'tools/mcp' },
} as const

/** Returns the names of the packed releases, the oldest first. */
export function releaseNames(): readonly string[] {
  return readdirSync(RELEASES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted()
}

/** Packs the Workers that store something: the code of each in one file, and its configuration. `root`: a checkout. */
export async function packRelease(root: string, name: string): Promise<void> {
  const folder = join(RELEASES, name)
  mkdirSync(folder, { recursive: true })
  for (const [worker, own] of Object.entries(STORING)) {
    const { outputFiles } = await build({
      entryPoints: ['main' in own ? join(REPOSITORY, own.main) : join(root, own.folder, 'index.ts')],
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2024',
      external: ['cloudflare:*', 'node:*'],
      // The pages store nothing.
      loader: { '.html': 'empty', '.txt': 'empty' },
      tsconfig: join(root, 'tsconfig.json'),
      write: false,
    })
    writeFileSync(join(folder, `${worker}.js.gz`), gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }))
    writeFileSync(join(folder, `${worker}.toml`), readFileSync(join(root, own.folder, 'wrangler.toml')))
  }
}

/** Unpacks a Worker of a release, to a file of this name without its ending. Returns the path of its configuration. */
export function unpackWorker(release: string, worker: keyof typeof STORING, to: string): string {
  const path = join(RELEASES, release, worker)
  writeFileSync(`${to}.js`, gunzipSync(readFileSync(`${path}.js.gz`)))
  return `${path}.toml`
}
