import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { testEdge } from '../fixtures/edge.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const html = readFileSync(`${ROOT}src/studio/page.html`, 'utf8')

describe('the page of the studio', () => {
  test('stays under 80 KiB gzip and names no foreign origin', () => {
    expect(gzipSync(html).byteLength).toBeLessThan(80 * 1024)
    const origins = new Set(html.match(/https?:\/\/[\w.-]+/g))
    // Names of XML namespaces, which are never fetched, and the example of a template.
    for (const origin of ['http://www.w3.org', 'https://api.example.com']) origins.delete(origin)
    expect([...origins]).toEqual([])
  })

  test('is served with a policy that lets in its one script and its one style by their hashes', async () => {
    const response = await testEdge().ask('/')
    expect(await response.text()).toBe(html)
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(Object.fromEntries(policy.split('; ').map((each) => each.split(/ (.*)/, 2)))).toEqual({
      'default-src': "'none'",
      'script-src': hashOf('script'),
      'style-src': hashOf('style'),
      'connect-src': "'self'",
      'img-src': 'data:',
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
      'require-trusted-types-for': "'script'",
      'trusted-types': "'none'",
    })
  })
})

/** The hash of what a browser finds in the page's only element of this name. */
function hashOf(name: string): string {
  const elements = [...html.matchAll(new RegExp(`<${name}(?: [^>]*)?>(.*?)</${name}>`, 'gs'))]
  expect(elements).toHaveLength(1)
  return `'sha256-${createHash('sha256')
    .update(elements[0]?.[1] ?? '')
    .digest('base64')}'`
}
