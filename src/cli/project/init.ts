import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import { isObject } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { readJsonFile } from '../json-file.ts'
import { bindService } from './bind.ts'
import { edgeFiles, type PackageVersions } from './edge-files.ts'
import { writeFiles } from './files.ts'
import { singleFiles } from './single-files.ts'
import { namesOf } from './names.ts'
import { greetingFiles } from './tool-files.ts'

export interface InitOptions {
  readonly root: string
  /** The folder of the project, relative to the root; it must be empty or not exist. */
  readonly folder: string
  /** What the project depends on as `edgecall`. Default: this version. */
  readonly edgecall: string | undefined
  /** Whether the tools are in the edge's own module, so that the project is one Worker. Default: false. */
  readonly single?: boolean
}

/** A project that was made. */
interface NewProject {
  /** Its folder, relative to the root. */
  readonly folder: string
  readonly files: readonly string[]
}

/** Returns the text that tells what to do in a project that was just made, with that version of Node. */
export function nextSteps({ folder, files }: NewProject, node: string = process.versions.node): string {
  const isOld = Number.parseInt(node) < 22
  const note = `
npm install will warn that wrangler needs a newer Node than ${node}: the project brings one, which its scripts and npx use.
`
  return `${files.length} files in ${folder}. Next:

  cd ${folder}
  npm install
  npm test
  npm start
${isOld ? note : ''}`
}

/** What may be in a folder that counts as empty. */
const HARMLESS = new Set(['.git', '.DS_Store', 'LICENSE'])

/** Makes a project: an edge, one tool Worker and its test. Returns the paths of the files, relative to the folder. */
export function init({ root, folder, edgecall, single = false }: InitOptions): NewProject {
  const target = resolve(root, folder)
  const { kebab: name } = namesOf(basename(target))
  const entries = existsSync(target) ? readdirSync(target).filter((each) => !HARMLESS.has(each)) : []
  if (entries.length > 0) {
    throw new Failure(`${folder} is not empty: it has ${entries.slice(0, 3).join(', ')}.`, 'Name a folder that is new.')
  }
  mkdirSync(target, { recursive: true })
  const versions = readPackageVersions()
  const files = {
    ...(single ? singleFiles : edgeFiles)({ name, versions, edgecall: edgecall ?? `^${versions.version}` }),
    ...greetingFiles(namesOf('greeting'), `${name}-greeting`),
  }
  writeFiles(target, files)
  if (!single) bindService(target, 'wrangler.toml', { binding: 'TOOL_GREETING', service: `${name}-greeting` })
  return { folder: relative(root, target) || '.', files: Object.keys(files).sort() }
}

/** Reads the package's own manifest: what it was tested with is what a project starts with. */
export function readPackageVersions(): PackageVersions {
  const manifest = readJsonFile(new URL('../../../package.json', import.meta.url).pathname)
  const { version, dependencies, devDependencies, config } = isObject(manifest) ? manifest : {}
  return {
    version: String(version),
    dependencies: textsOf(dependencies),
    // Here `node` is a folder. A project of its own gets it from the registry.
    devDependencies: { ...textsOf(devDependencies), ...textsOf(config) },
  }
}

function textsOf(table: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(isObject(table) ? table : {})
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}
