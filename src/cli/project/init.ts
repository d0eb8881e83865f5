import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import { Failure } from '../failure.ts'
import { readJsonFile } from '../text-file.ts'
import { bindService } from './bind.ts'
import { codingGuide, SINGLE_WORKER } from './coding-guide.ts'
import {
  commonFiles,
  type EdgeConfig,
  edgeConfig,
  edgeFiles,
  type EdgeFilesOptions,
  type PackageVersions,
} from './edge-files.ts'
import { type Files, writeFiles } from './files.ts'
import { namesOf } from './names.ts'
import { greetingFiles } from './tool-files.ts'
import { isObject } from '../../contract/json.ts'

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

/** The files of a project in one Worker, whose edge exports the tool Worker `tools/greeting`. */
export function singleFiles(options: EdgeFilesOptions): Files {
  const { name } = options
  return {
    ...commonFiles(options),
    ...codingGuide(name, SINGLE_WORKER),
    'wrangler.toml': edgeConfig({ name, ...CONFIG }),
    'src/index.ts': EDGE,
    'README.md': readme(name),
  }
}

const EDGE = `/** The edge: hosts the tool-calling loop. Name less than everything, and the bundle has less in it. */
import { createEdge } from 'edgecall'
import { everything } from 'edgecall/everything'

// The tools: each is a tool Worker of its own, in this Worker's bundle. To deploy one on its own, bind it instead.
export { default as TOOL_GREETING } from '../tools/greeting/index.ts'

// Stored tools need a Worker of their own, so this edge has none.
const use = everything.use.filter(({ name }) => !['storedTools', 'mcpConnections'].includes(name))
const edge = createEdge({ ...everything, use })

export const { Conversation, Directory } = edge
export default edge
`

const CONFIG: Omit<EdgeConfig, 'name'> = {
  note: 'The edge, with its tools in the same Worker: src/index.ts exports them under names that begin with TOOL_.',
  secrets: 'OPENAI_API_KEY, API_KEYS, and those of the tools',
  classes: { CONVERSATIONS: 'Conversation', DIRECTORIES: 'Directory' },
}

function readme(name: string): string {
  return `# ${name}

An [Edgecall](https://www.npmjs.com/package/edgecall) edge with its tools in one Worker.

[![Deploy to Cloudflare](https://deploy.workers.cloudflare.com/button)](https://deploy.workers.cloudflare.com/?url=https://github.com/OWNER/${name})

Put the address of your repository into the button. It deploys the Worker to the account of the person who presses it; set \`API_KEYS\`, \`MODEL\`
and the key of the model there.

\`\`\`sh
npm install
npm start                             # the edge with its tools on this machine, with an offline model
npm test                              # types, and the tests of the tools on workerd
npx edgecall new tool roll-dice       # one more tool, with its test and its export in src/index.ts
npx edgecall ask "…"                  # ask the edge that npm start runs
npx edgecall help                     # all commands
\`\`\`

| file | what it is |
| --- | --- |
| \`src/index.ts\` | the edge, and the exports of its tools |
| \`wrangler.toml\` | its bindings; those of the tools too |
| \`tools/<name>/\` | one tool Worker each, with its test; its wrangler.toml is for the test, and to deploy it on its own |
| \`.dev.vars\` | variables and secrets on your machine; see \`.dev.vars.example\` |
`
}
