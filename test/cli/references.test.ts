import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { importOpenApi } from '../../src/cli/import.ts'
import { readEntries, writeEntries } from '../../src/cli/mcp/import-mcp.ts'

const SECRET = { Secret: { type: 'string', description: 'hunter2' } }

/** Imports a document whose only schema is at a reference, and returns the definitions that are made, and what is printed. */
async function importWith(ref: string) {
  const root = mkdtempSync(join(tmpdir(), 'edgecall-references-'))
  const folder = join(root, 'api')
  mkdirSync(join(folder, 'parts'), { recursive: true })
  writeFileSync(join(root, 'creds.json'), JSON.stringify(SECRET))
  writeFileSync(join(folder, 'parts', 'a b.json'), JSON.stringify(SECRET))
  symlinkSync(join(root, 'creds.json'), join(folder, 'link.json'))
  symlinkSync(root, join(folder, 'out'))
  symlinkSync(join(folder, 'parts'), join(folder, 'within'))
  const schema = { $ref: `${ref}#/Secret` }
  const get = { operationId: 'read', parameters: [{ name: 'q', in: 'query', schema }] }
  const document = { openapi: '3.1.0', servers: [{ url: 'https://api.example.com' }], paths: { '/': { get } } }
  writeFileSync(join(folder, 'api.json'), JSON.stringify(document))
  let out = ''
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text)
    return true
  })
  onTestFinished(() => spy.mockRestore())
  const options = { root: folder, env: {}, file: 'api.json', header: [], tag: [], path: [], operation: [] }
  const failure = await importOpenApi(options).catch((error: Error) => error.message)
  const folderOut = join(folder, 'tools/definitions')
  const texts =
    failure === undefined ? readdirSync(folderOut).map((file) => readFileSync(join(folderOut, file), 'utf8')) : []
  return { isRead: texts.join().includes('hunter2'), failure, out }
}

test.each([['parts/a%20b.json'], ['./parts/../parts/a b.json'], ['within/a%20b.json']])(
  'a document within the folder of the first one is read: %s',
  async (ref) => {
    expect(await importWith(ref)).toMatchObject({ isRead: true, failure: undefined })
  },
)

test.each([
  ['../creds.json'],
  ['..%2fcreds.json'],
  ['..%2Fcreds.json'],
  ['%2e%2e%2fcreds.json'],
  ['parts%2f..%2f..%2fcreds.json'],
  ['..%5ccreds.json'],
  ['link.json'],
  ['out/creds.json'],
  ['file:///..%2fcreds.json'],
  ['%zz/../../creds.json'],
])('no document outside of the folder of the first one is read: %s', async (ref) => {
  const { isRead, failure, out } = await importWith(ref)
  expect([isRead, failure]).toEqual([false, 'api.json has no operation that a definition can be made of.'])
  expect(out).toMatch(/^Left out GET \/: the reference /)
})

test.each([["'''"], ["''''''''"], ["a'b''c'''"], ['\u007f'], ['\\u0027'], ['"""'], ['\n[vars]\nMODEL = "x"']])(
  'the address of an MCP server may hold what ends a text of TOML: %j',
  (part) => {
    const entries = [
      { name: 'a', url: `https://mcp.example.com/${part}` },
      { name: 'b', url: 'https://b.example.com/' },
    ]
    for (const text of ['name = "mcp"\n', 'name = "mcp"\n[vars]\nMCP_SERVERS = "[]"\nOTHER = "o"\n']) {
      const once = writeEntries('wrangler.toml', text, entries)
      expect(readEntries('wrangler.toml', once)).toEqual(entries)
      expect(readEntries('wrangler.toml', writeEntries('wrangler.toml', once, entries))).toEqual(entries)
    }
  },
)
