import { builtinModules } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { type Stage, startStage } from './stage.ts'

/** The modules of the platform. Those of Node are not among them: `node:module` lists these. */
const PLATFORM = [
  'cloudflare:ai',
  'cloudflare:br',
  'cloudflare:durable-objects',
  'cloudflare:email',
  'cloudflare:internal-class',
  'cloudflare:node',
  'cloudflare:pipelines',
  'cloudflare:sockets',
  'cloudflare:vectorize',
  'cloudflare:workers',
  'cloudflare:workflows',
  'cloudflare-internal:sockets',
  'cloudflare-internal:workers',
  'internal:unsafe-eval',
  'node-internal:internal_timers',
  'node-internal:process',
  'workerd:unsafe',
  'workerd:unsafe-eval',
]
const NODE = builtinModules.map((name) => (name.startsWith('node:') ? name : `node:${name}`))
const MODULES = [...PLATFORM, ...NODE]

/** Ways to write the name of a module, each of which a module registry might take for the name itself. */
const SPELLINGS: Readonly<Record<string, (name: string) => string>> = {
  plain: (name) => name,
  relative: (name) => `./${name}`,
  'from the root': (name) => `/${name}`,
  'from a parent': (name) => `../${name}`,
  'in upper case': (name) => name.toUpperCase(),
  'without its scheme': (name) => name.replace(/^[^:]*:/, ''),
  'with a query': (name) => `${name}?fresh`,
  'with a fragment': (name) => `${name}#fresh`,
  'with an escape': (name) => name.replace(/:(.)/, (_, first: string) => `:%${first.charCodeAt(0).toString(16)}`),
  'as a file': (name) => `file:///${name}`,
  'with slashes after its scheme': (name) => name.replace(':', '://'),
  'with white space': (name) => ` ${name}\n`,
}

let stage: Stage
/** Runs code as the definitions Worker does, without its checks. */
let frame: TestHarness
beforeAll(async () => {
  stage = await startStage({ AUTH: 'open' }, { code: true })
  const root = new URL('../..', import.meta.url).pathname
  frame = createTestHarness({ root, workers: [{ configPath: 'test/fixtures/code-frame/wrangler.toml' }] })
  await frame.listen()
})
afterAll(async () => {
  await stage?.close()
  await frame?.close()
})

const put = async (name: string, module: string) => {
  const json = { description: 'Imports.', inputSchema: { type: 'object' }, code: { module } }
  const response = await stage.ask(`/tools/${name}`, { method: 'PUT', json })
  return { status: response.status, body: (await response.json()) as any }
}

test('the isolate of code has no module of the platform and none of Node, however the code writes its name', async () => {
  const module = `export default async ({ names }) => {
    const imported = []
    for (const name of names) await import(name).then(() => imported.push(name), () => {})
    return imported
  }`
  const names = Object.values(SPELLINGS).flatMap((spell) => MODULES.map(spell))
  // The code itself is a module that it may import, so that an empty list means that imports were tried.
  const body = JSON.stringify({ module, arguments: { names: [...names, './tool.js'] } })
  const response = await frame.fetch('http://code/', { method: 'POST', body })
  // The platform cannot be kept from giving this one, which hands out all others: so code may import nothing at all.
  expect(await response.json()).toEqual({ value: ['node:process', './tool.js'] })
})

const PROCESS = "'node:process'"
const IMPORTS: Readonly<Record<string, string>> = {
  'of all': `import * as all from ${PROCESS}; export default () => all`,
  'of the default': `import all from ${PROCESS}; export default () => all`,
  'of a name': `import { env } from ${PROCESS}; export default () => env`,
  'of a name as a string': `import all, { "env" as env } from ${PROCESS}; export default () => env`,
  'of a name with an escape': `import \\u0061ll from ${PROCESS}; export default () => all`,
  'of names over many lines': `import all,\n\n\n${' '.repeat(500)}{\n env\n} from ${PROCESS}; export default () => env`,
  'with comments for spaces': `import/* " */all/* ; */from/**/${PROCESS}; export default () => all`,
  'with comments beside the star': `import*/**/as all from ${PROCESS}; export default () => all`,
  'with a comment to the end of the line': `import*// */\nas all from ${PROCESS}; export default () => all`,
  'without a name': `import ${PROCESS}; export default () => 1`,
  'of an escaped name': `import all from 'node:\\x70rocess'; export default () => all`,
  'after wide white space': `\u3000import all from ${PROCESS}; export default () => all`,
  'that is exported': `export { exit as default } from ${PROCESS}`,
  'that is exported with a comment': `export { exit as default /* } */ } from ${PROCESS}`,
  'of which all is exported': `export*from ${PROCESS}; export default () => 1`,
  'at run time': `export default () => import(${PROCESS})`,
  'at run time of a text': `export default ({ name }) => import(name)`,
  'at run time after white space': `export default () => import\u00a0\n(${PROCESS})`,
  'at run time after a comment': `export default () => import/* x */(${PROCESS})`,
  'at run time within a text': 'export default () => `${import("node:process")}`',
  'at run time after three dots': `export default () => [...import(${PROCESS})]`,
  'at run time after a regular expression': `export default () => /[/"]/.test('') || import(${PROCESS})`,
  'of a source': `export default () => import.source(${PROCESS})`,
}

test.each(Object.entries(IMPORTS))('code with an import %s is refused', async (_, module) => {
  const { status, body } = await put('importing', module)
  expect([status, body.code, body.issues]).toEqual([
    422,
    'invalid_definition',
    [{ path: 'code.module', message: expect.stringMatching(/^expected a module that imports nothing, received /) }],
  ])
})

test('code that only has the word, and exports of its own, is stored', async () => {
  const module = `/* What the import does. The import */ const from = 'an import failed'
    // Callers import the result of this.
    const api = { import: 1, importKey() {}, load: { } }
    api.load.import = () => from
    const importRow = () => api.load.import()
    const run = () => importRow()
    export { run as default }
    export const exported = import.meta`
  expect(await put('words', module)).toMatchObject({ status: 201 })
})
