import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { testEdge } from '../fixtures/edge.ts'

const WORKERS = readdirSync('tools').filter((name) => readdirSync(`tools/${name}`).includes('wrangler.toml'))

test.each(WORKERS)('the tool Worker %s has no address on the web', (name) => {
  const config = parse(readFileSync(`tools/${name}/wrangler.toml`, 'utf8'))
  expect(config).toMatchObject({ workers_dev: false, preview_urls: false })
  expect(Object.keys(config).filter((key) => /^routes?$/.test(key))).toEqual([])
})

test('the edge has no address for each uploaded version', () => {
  expect(parse(readFileSync('wrangler.toml', 'utf8'))).toMatchObject({ preview_urls: false })
})

test('the page loads nothing from elsewhere, cannot be framed, and is absent when switched off', async () => {
  const { headers } = await testEdge().ask('/')
  const policy = headers.get('content-security-policy')?.split('; ')
  const none = ['default-src', 'base-uri', 'form-action', 'frame-ancestors'].map((name) => `${name} 'none'`)
  const script = ["connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"]
  expect(policy).toEqual(expect.arrayContaining([...none, ...script]))
  expect(policy?.join(' ')).not.toContain('unsafe')
  expect([headers.get('referrer-policy'), headers.get('x-content-type-options')]).toEqual(['no-referrer', 'nosniff'])
  expect((await testEdge({ vars: { STUDIO: 'off' } }).ask('/')).status).toBe(404)
})

test('no source of the page makes markup of texts', () => {
  const sources = readdirSync('src/studio', { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  )
  expect(sources.length).toBeGreaterThan(30)
  const makers = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|javascript:/i
  expect(sources.filter((name) => makers.test(readFileSync(`src/studio/${name}`, 'utf8')))).toEqual([])
})
