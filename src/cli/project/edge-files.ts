import { codingGuide } from './coding-guide.ts'
import type { Files } from './files.ts'
import { COMPATIBILITY_DATE, privateWorker } from './tool-files.ts'

/** What the manifest of the package says about versions. */
export interface PackageVersions {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

export interface EdgeFilesOptions {
  /** The name of the edge Worker, such as `my-edge`. */
  readonly name: string
  readonly versions: PackageVersions
  /** What the project depends on as `edgecall`. */
  readonly edgecall: string
}

/** The files that all projects have. */
export function commonFiles(options: EdgeFilesOptions): Files {
  return {
    'package.json': manifest(options),
    ...codingGuide(options.name),
    'tsconfig.json': TSCONFIG,
    '.dev.vars.example': DEV_VARS,
    '.gitignore': 'node_modules/\n.wrangler/\n.edgecall-dev-*\n.dev.vars*\n!.dev.vars.example\n',
    '.github/workflows/ci.yml': CI,
  }
}

/** The files of a project with an edge that has everything, without its tools. */
export function edgeFiles(options: EdgeFilesOptions): Files {
  const { name } = options
  return {
    ...commonFiles(options),
    'wrangler.toml': edgeConfig({ name, ...FULL_CONFIG, bindings: storedToolBindings(name) }),
    'src/index.ts': EDGE,
    'tools/definitions/index.ts': `export { Definitions as default, Outbound } from 'edgecall/stored'\n`,
    'tools/definitions/wrangler.toml': privateWorker(
      `${name}-definitions`,
      'Checks and performs stored tools, which are the JSON files beside this one. It needs no change.',
      ['global_fetch_strictly_public'],
    ),
    'README.md': readme(name),
  }
}

function manifest({ name, versions, edgecall }: EdgeFilesOptions): string {
  const own = (names: readonly string[], table: Readonly<Record<string, string>>) =>
    Object.fromEntries(names.flatMap((each) => (table[each] === undefined ? [] : [[each, table[each]]])))
  const value = {
    name,
    private: true,
    type: 'module',
    scripts: {
      start: 'edgecall dev',
      test: "tsc && node --test 'tools/*/*.test.ts'",
      deploy: 'edgecall deploy',
    },
    dependencies: { edgecall, ...own(['valibot'], versions.dependencies) },
    devDependencies: own(
      ['@cloudflare/workers-types', '@types/node', 'node', 'typescript', 'wrangler'],
      versions.devDependencies,
    ),
    engines: { node: '>=20' },
    // Wrangler needs a newer Node than many machines have: the dev dependency \`node\` is what scripts and npx run.
    allowScripts: { esbuild: true, node: true, workerd: true },
  }
  return `${JSON.stringify(value, null, 2)}\n`
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "types": ["@cloudflare/workers-types", "node"],
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "allowImportingTsExtensions": true
  },
  "include": ["src", "tools"]
}
`

const EDGE = `/** The edge: hosts the tool-calling loop. Name less than everything, and the bundle has less in it. */
import { createEdge } from 'edgecall'
import { everything } from 'edgecall/everything'

export { Catalog } from 'edgecall'

const edge = createEdge(everything)

export const { Conversation, Directory, Schedules } = edge
export default edge
`

const DEV_VARS = `# Copy this file to .dev.vars, which git ignores: variables and secrets of the edge on your machine. Without a MODEL,
# \`npm start\` runs an offline model that answers by rules and needs no key.
# MODEL="openai/gpt-4.1-mini"
# OPENAI_API_KEY="sk-…"
`

const CI = `name: CI
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with:
          node-version: 24
          cache: npm
      - run: npm ci
      - run: npm test
      - run: npx edgecall deploy --dry-run
`

const FULL_CONFIG: Omit<EdgeConfig, 'name'> = {
  note: "The edge Worker. A tool Worker is bound by one [[services]] stanza: a name that begins with TOOL_, and the Worker's name.",
  secrets: 'OPENAI_API_KEY, API_KEYS, SECRET_*',
  classes: { CONVERSATIONS: 'Conversation', DIRECTORIES: 'Directory', CATALOG: 'Catalog', SCHEDULES: 'Schedules' },
}

function storedToolBindings(name: string): string {
  return `# Performs stored tools.
[[services]]
binding = "DEFINITIONS"
service = "${name}-definitions"

[[kv_namespaces]]
binding = "TOOLS"

`
}

export interface EdgeConfig {
  readonly name: string
  /** What the comment at the head of the file says. */
  readonly note: string
  /** The secrets that another comment names. */
  readonly secrets: string
  /** The stanzas of bindings before those of the Durable Objects. Default: none. */
  readonly bindings?: string
  /** The classes of its Durable Objects, by binding. */
  readonly classes: Readonly<Record<string, string>>
}

/** Returns the `wrangler.toml` of an edge. */
export function edgeConfig({ name, note, secrets, bindings = '', classes }: EdgeConfig): string {
  const objects = Object.entries(classes).map(
    ([binding, className]) => `[[durable_objects.bindings]]
name = "${binding}"
class_name = "${className}"
`,
  )
  return `# ${note}
name = "${name}"
main = "src/index.ts"
compatibility_date = "${COMPATIBILITY_DATE}"
compatibility_flags = ["enable_request_signal", "global_fetch_strictly_public"]
minify = true
keep_names = false
upload_source_maps = true
preview_urls = false

# Secrets (${secrets}) are set with \`npx wrangler secret put NAME\`, never here.
[vars]
# MODEL = "openai/gpt-4.1-mini"

${bindings}# The keys that \`edgecall keys revoke\` has disabled, and those of \`edgecall keys new --stored\`.
[[kv_namespaces]]
binding = "KEYS"

${objects.join('\n')}
# Tells the edge which version of it is deployed: a new one tries runs again that an earlier one could not resume.
[version_metadata]
binding = "CF_VERSION_METADATA"

[[migrations]]
tag = "v1"
new_sqlite_classes = [${Object.values(classes)
    .map((className) => `"${className}"`)
    .join(', ')}]

[observability]
enabled = true
`
}

function readme(name: string): string {
  return `# ${name}

An [Edgecall](https://www.npmjs.com/package/edgecall) edge with tools of its own.

\`\`\`sh
npm install
npm start                             # the edge and its tools on this machine, with an offline model
npm test                              # types, and the tests of the tools on workerd
npx edgecall new tool roll-dice       # one more tool Worker, with its test and its binding
npx edgecall new http-tool rates      # a stored tool: a JSON file that names an HTTP request
npx edgecall ask "…"                  # ask the edge that npm start runs
npx edgecall help                     # all commands
\`\`\`

| file | what it is |
| --- | --- |
| \`src/index.ts\` | the edge |
| \`wrangler.toml\` | its bindings: one \`[[services]]\` stanza a tool Worker |
| \`tools/<name>/\` | one tool Worker each, with its own secrets, databases and tests |
| \`tools/definitions/*.json\` | stored tools, which need no deployment of code |
| \`.dev.vars\` | variables and secrets on your machine; see \`.dev.vars.example\` |
`
}
