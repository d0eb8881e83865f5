import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { definitionIssues } from 'edgecall/test'

const read = (path: string) => readFileSync(path, 'utf8')
const folders = (pattern: string) =>
  globSync(pattern)
    .map((path) => dirname(path))
    .toSorted()

describe.each(globSync('tools/*/wrangler.toml'))('%s', (path) => {
  const config = parse(read(path))

  test('names its Worker after its folder', () => {
    expect(config).toMatchObject({
      name: `edgecall-${dirname(path).split('/').at(-1)}`,
      main: 'index.ts',
      compatibility_date: '2026-10-23',
      observability: { enabled: true },
    })
    expect(existsSync(join(dirname(path), 'index.ts'))).toBe(true)
  })

  test('has no address on the internet', () => {
    expect(config).toMatchObject({ workers_dev: false, preview_urls: false })
    for (const key of ['route', 'routes', 'env', 'triggers', 'assets']) expect(config).not.toHaveProperty(key)
  })
})

test('every tool Worker has a configuration', () => {
  expect(folders('tools/*/wrangler.toml')).toEqual(folders('tools/*/index.ts'))
  expect(folders('tools/*/index.ts')).not.toEqual([])
})

describe.each(globSync('tools/definitions/*.json'))('%s', (path) => {
  const definition = JSON.parse(read(path)) as Record<string, unknown> & {
    name: string
    inputSchema: { properties: Record<string, unknown>; required?: string[] }
    http?: { url: string; secrets?: string[] }
  }

  test('is named after its file and has a description', () => {
    const [file = ''] = path.split('/').slice(-1)
    expect(file).toBe(`${definition.name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.json`)
    expect(definition['description']).toEqual(expect.any(String))
    expect(definition.inputSchema).toMatchObject({ type: 'object', properties: expect.any(Object) })
  })

  test('is accepted by the edge', () => {
    expect(definitionIssues(path)).toEqual([])
  })

  test('uses exactly its required arguments and secrets in its template', () => {
    const { http, inputSchema } = definition
    if (!http) return
    expect(new URL(http.url).protocol).toBe('https:')
    const used = [...JSON.stringify(http).matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect([...(inputSchema.required ?? []), ...(http.secrets ?? [])]).toEqual(expect.arrayContaining(used))
    expect(Object.keys(inputSchema.properties)).toEqual(expect.arrayContaining(inputSchema.required ?? []))
  })
})

test('there is a definition of each kind', () => {
  const all = globSync('tools/definitions/*.json').map((path) => Object.keys(JSON.parse(read(path)) as object))
  expect(['http', 'binding', 'static'].filter((kind) => all.some((keys) => keys.includes(kind)))).toHaveLength(3)
})
