import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { variableNames } from '../../src/cli/document/configuration.ts'
import { documentPages, documentText } from '../../src/cli/document/document.ts'
import { studioFiles } from '../../src/cli/document/studio.ts'
import { allDecisionProviders, createEdge, type Env } from 'edgecall'
import { everything } from 'edgecall/everything'
import { servedRoutes } from '../fixtures/served-routes.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const document = JSON.parse(documentText(ROOT)) as Record<string, any>

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods as object).map(([method, operation]) => ({ path, method, operation })),
)

/** Every value of a tree that stands under a key. */
function allAt(key: string, tree: unknown): unknown[] {
  if (typeof tree !== 'object' || tree === null) return []
  return Object.entries(tree).flatMap(([name, value]) => (name === key ? [value] : allAt(key, value)))
}

test('the bundled document is that of this code: else run `npm run openapi`', () => {
  expect(readFileSync(`${ROOT}src/http/openapi.txt`, 'utf8')).toBe(documentText(ROOT))
})

test.each(Object.entries(documentPages('.')))(
  'docs/%s is made from this code: else run `npm run openapi`',
  (file, text) => {
    expect(readFileSync(`${ROOT}docs/${file}`, 'utf8')).toBe(text)
  },
)

test('the page of the studio is built from its sources: else run `npm run studio`', async () => {
  const files = await studioFiles(ROOT)
  expect(Object.keys(files)).toEqual(['src/studio/page.html', 'src/studio/page-policy.ts'])
  for (const [path, content] of Object.entries(files)) expect(readFileSync(ROOT + path, 'utf8')).toBe(content)
})

test('the pages on configuration have every variable that the edge reads, and no other', () => {
  const names = new Set<string>()
  const vars = new Proxy({} as Env, {
    get: (_, name) => {
      names.add(String(name))
      return name === 'OTLP_ENDPOINT' ? 'https://otlp.example.com' : undefined
    },
  })
  createEdge(everything).setup(vars)
  for (const fromEnv of Object.values({ ...everything.providers, ...allDecisionProviders })) fromEnv(vars)
  const bindings = [
    'AI',
    'CATALOG',
    'CF_VERSION_METADATA',
    'CONVERSATIONS',
    'DEFINITIONS',
    'DIRECTORIES',
    'DISPATCHER',
    'KEYS',
    'LOADER',
    'METRICS',
    'SCHEDULES',
    'TOOLS',
    'TOOL_MCP',
  ]
  // Does the same as OTLP_HEADERS.
  for (const name of [...bindings, 'OTEL_EXPORTER_OTLP_HEADERS']) names.delete(name)
  expect([...variableNames()].sort()).toEqual([...names, 'SECRET_*'].sort())
})

test('the document has exactly the routes of the edge', () => {
  const documented = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`)
  expect(documented.sort()).toEqual([...servedRoutes()].sort())
})

test('every reference leads somewhere, and every schema is referred to', () => {
  const references = new Set(allAt('$ref', document))
  for (const reference of references) {
    const [, ...steps] = String(reference).split('/')
    const target = steps.reduce<any>((value, step) => value?.[step], document)
    expect(target, String(reference)).toBeTypeOf('object')
  }
  const unused = Object.keys(document.components.schemas).filter(
    (name) => !references.has(`#/components/schemas/${name}`),
  )
  expect(unused).toEqual([])
})

test('every operation has an id of its own, a known tag, an answer, and the parameters of its path', () => {
  const ids = operations.map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  const tags = document.tags.map((tag: { name: string }) => tag.name)
  for (const { path, operation } of operations) {
    expect(tags).toEqual(expect.arrayContaining(operation.tags))
    expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true)
    const actual = (operation.parameters ?? []).filter((parameter: { in: string }) => parameter.in === 'path')
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect(actual.map((parameter: { name: string }) => parameter.name)).toEqual(names)
  }
})

test('exactly the operations without a required scope may be called without a key', () => {
  const open = operations.filter(({ operation }) => operation.security?.length === 0)
  expect(open.map(({ path }) => path).sort()).toEqual([
    '/',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/connections/callback',
    '/health',
    '/openapi.json',
    '/outcomes/{token}',
  ])
  expect(document.security).toEqual([{ key: [] }])
})
