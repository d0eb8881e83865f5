import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { filesUnder } from './fixtures/source-files.ts'

/** Who may import whom, type imports too. A room may use itself; doors are files, and nobody imports one. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  wire: ['contract'],
  schema: ['contract'],
  search: ['contract', 'wire'],
  model: ['contract', 'wire'],
  client: ['contract', 'wire'],
  observe: ['contract'],
  tool: ['contract', 'schema'],
  code: ['contract', 'tool', 'search'],
  definitions: ['contract', 'wire', 'schema', 'tool', 'code'],
  host: ['contract', 'wire', 'schema', 'tool', 'search'],
  loop: ['contract', 'schema', 'tool', 'host'],
  catalogue: ['contract', 'host'],
  conversation: ['contract', 'wire', 'tool', 'loop'],
  directory: ['contract'],
  http: ['contract', 'wire', 'search', 'host', 'loop'],
  triggers: ['contract', 'wire', 'conversation', 'http'],
  approvals: ['contract', 'http', 'triggers'],
  studio: ['contract', 'client'],
  edge: [
    'contract',
    'loop',
    'model',
    'search',
    'code',
    'host',
    'observe',
    'catalogue',
    'conversation',
    'directory',
    'http',
    'triggers',
    'approvals',
    'studio',
  ],
  platform: ['contract'],
  testing: ['contract', 'schema', 'definitions', 'host', 'platform'],
  cli: ['contract', 'wire', 'schema', 'tool', 'definitions', 'search', 'edge', 'platform', 'testing'],
}

/** Where a class must extend what the runtime gives. */
const MAY_IMPORT_RUNTIME = [
  'src/edge/setup.ts',
  'src/http/surfaces/outcomes.ts',
  'src/agent.ts',
  'src/catalogue/catalogue.ts',
  'src/conversation/conversation.ts',
  'src/directory/directory.ts',
  'src/mcp.d.ts',
  'src/platform/hold.ts',
  'src/stored.ts',
  'src/tool/serve.ts',
  'src/triggers/schedules.ts',
]

/** Static, type-only, bare and dynamic imports, and re-exports. */
const IMPORT = /\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g

function filesOf(folder: string): string[] {
  return filesUnder(folder).filter((file) => /\.tsx?$/.test(file))
}

function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, path]) => path ?? '')
}

function roomOf(file: string): string {
  return file.split('/')[1] ?? ''
}

test('rooms import only what the matrix allows', () => {
  const wrong = filesOf('src')
    .filter((file) => file.split('/').length > 2)
    .flatMap((file) => {
      const room = roomOf(file)
      return importsOf(file)
        .filter((path) => path.startsWith('.'))
        .map((path) => join(dirname(file), path))
        .filter((to) => roomOf(to) !== room && !MAY_IMPORT[room]?.includes(roomOf(to)))
        .map((to) => `${file} -> ${to}`)
    })
  expect(wrong).toEqual([])
})

/** The folders inside a room that must not import a folder beside them, which imports them. */
const INNER: readonly (readonly [from: string, to: string])[] = [
  ['src/wire/provider/', 'src/wire/client/'],
  ['src/loop/decide/', 'src/loop/perform/'],
  ['src/http/runs/', 'src/http/respond/'],
  ['src/http/runs/', 'src/http/surfaces/'],
  ['src/http/respond/', 'src/http/surfaces/'],
  ['src/conversation/store/', 'src/conversation/run/'],
  ['src/conversation/store/', 'src/conversation/history/'],
]

test('folders inside a room import in one direction', () => {
  const wrong = filesOf('src').flatMap((file) =>
    importsOf(file)
      .filter((path) => path.startsWith('.'))
      .map((path) => join(dirname(file), path))
      .filter((to) => INNER.some(([from, forbidden]) => file.startsWith(from) && to.startsWith(forbidden)))
      .map((to) => `${file} -> ${to}`),
  )
  expect(wrong).toEqual([])
})

test('the matrix names every room', () => {
  const rooms = new Set(
    filesOf('src')
      .filter((file) => file.split('/').length > 2)
      .map(roomOf),
  )
  expect([...rooms].filter((room) => !Object.hasOwn(MAY_IMPORT, room))).toEqual([])
})

test('tool Workers import from src only through the doors, and the offline model nothing', () => {
  const files = filesOf('tools').filter((file) => !file.endsWith('.test.ts'))
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter((path) => path.startsWith('.') || (file.startsWith('tools/offline/') && path.startsWith('edgecall')))
      .map((path) => join(dirname(file), path))
      .filter((to) => !to.startsWith('tools/') || to.includes('edgecall'))
      .map((to) => `${file} -> ${to}`),
  )
  expect(wrong).toEqual([])
})

test('the runtime is imported only where a class must extend it, or its exports are read', () => {
  const users = filesOf('src').filter((file) => importsOf(file).includes('cloudflare:workers'))
  expect(users.filter((file) => !MAY_IMPORT_RUNTIME.includes(file))).toEqual([])
})

test('CONTRIBUTING names only files and folders that exist', () => {
  const text = readFileSync('CONTRIBUTING.md', 'utf8')
  const paths = [...text.matchAll(/`(src\/[\w./-]+)`/g)].map(([, path = '']) => path)
  expect(paths.filter((path) => !existsSync(path))).toEqual([])
  expect(paths.length).toBeGreaterThan(20)
})

test('CONTRIBUTING counts the files of each way through the house', () => {
  const [, section = ''] =
    /## Four ways through the house\n([^]*?)\n## /.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? []
  const ways = section.split(/\n(?=\*\*)/).slice(1)
  const counts = ways.map((way) => Number(/\((\d+) files/.exec(way)?.[1]))
  const wayCounts = ways.map((way) => new Set([...way.matchAll(/`(src\/[\w./-]+\.ts)`/g)].map(([, path]) => path)).size)
  expect(counts).toEqual(wayCounts)
  expect(counts).toHaveLength(4)
})

/** Tests that import the inside of other rooms than their own: these rooms, and the reason. */
const EXCEPTIONS: Readonly<Record<string, readonly [rooms: readonly string[], reason: string]>> = {
  'test/code/run-code.test.ts': [['search'], 'the search and `run_code` choose the tools of a step together'],
  'test/cli/connect/connect.test.ts': [['studio'], 'the page of the studio shows what the command prints'],
  'test/edge/agents.test.ts': [['cli', 'testing'], 'Workers that run under `wrangler dev` are held to limits, too'],
  'test/faults/outage.test.ts': [
    ['loop', 'model'],
    'runs, retries and the sparing of a provider outlast an outage together',
  ],
  'test/http/chat-parts.test.ts': [['wire'], 'what the tables of members say is what the route answers'],
  'test/http/message-blocks.test.ts': [['wire'], 'what the tables of members say is what the route answers'],
  'test/http/response-items.test.ts': [['wire'], 'what the tables of members say is what the route answers'],
  'test/http/embeddings.test.ts': [['wire'], 'what the table of members says is what the vendor’s schema has'],
  'test/http/members.test.ts': [['wire'], 'what the tables of members say is what the routes answer'],
  'test/observe/exercise.test.ts': [
    ['cli'],
    'the exercise of docs/observe.md: metrics, traces and the log of one edge',
  ],
  'test/observe/metrics.test.ts': [['http'], 'what is counted is read as `GET /metrics` prints it'],
  'test/platform/limits.test.ts': [['testing'], 'limits that take long to pass are smaller here'],
  'test/triggers/answers.test.ts': [['conversation'], 'answers are sent as the webhooks of conversations are'],
}

/** Whether a folder of `test` has the tests of one room of `src`. The others test several rooms together. */
function isRoom(folder: string): boolean {
  // `test/edge` has the tests that run in workerd.
  return folder !== 'edge' && Object.hasOwn(MAY_IMPORT, folder)
}

test('tests import the inside of one room alone, beside contract, the doors, fixtures and suites', () => {
  const reaching = filesOf('test').flatMap((file) => {
    if (!/\.test\.tsx?$/.test(file)) return []
    const inside = importsOf(file)
      .filter((path) => path.startsWith('.'))
      .map((path) => join(dirname(file), path))
      // The files of `src` itself are the doors.
      .filter((to) => to.startsWith('src/') && to.split('/').length > 2)
      .map(roomOf)
    const rooms = new Set(inside.filter((room) => room !== 'contract' && room !== roomOf(file)))
    // A test outside of the rooms' folders has one room of its own at most.
    const isAllowed = rooms.size <= (isRoom(roomOf(file)) ? 0 : 1)
    return isAllowed ? [] : [[file, [...rooms].sort()] as const]
  })
  const expected = Object.entries(EXCEPTIONS).map(([file, [rooms]]) => [file, rooms] as const)
  expect(Object.fromEntries(reaching)).toEqual(Object.fromEntries(expected))
})
