import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bindService } from '../../../src/cli/project/bind.ts'

/** Binds TOOL_DICE in a configuration with this text, and returns the text that it has then. */
function bindIn(name: string, text: string): string {
  const root = mkdtempSync(join(tmpdir(), 'bind-test-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  writeFileSync(join(root, name), text)
  bindService(root, name, { binding: 'TOOL_DICE', service: 'my-dice' })
  return readFileSync(join(root, name), 'utf8')
}

const STANZA = '[[services]]\nbinding = "TOOL_DICE"\nservice = "my-dice"\n'

describe('binding a service in TOML', () => {
  test('adds the stanza after the last one, and keeps comments and order', () => {
    const before = '# edge\nname = "e"\n\n[[services]] # one\nbinding = "A"\nservice = "a"\n'
    const after = '\n# of the store\n[[kv_namespaces]]\nbinding = "TOOLS"\n'
    expect(bindIn('wrangler.toml', before + after)).toBe(`${before}\n${STANZA}${after}`)
  })

  test('adds the first stanza at the end', () => {
    expect(bindIn('wrangler.toml', 'name = "e"\n[vars]\nA = "1"')).toBe(`name = "e"\n[vars]\nA = "1"\n\n${STANZA}`)
  })

  test('keeps the tables of a stanza with it', () => {
    const text = 'name = "e"\n[[services]]\nbinding = "A"\nservice = "a"\n[services.props]\nb = 1\n\n[vars]\n'
    expect(bindIn('wrangler.toml', text)).toBe(text.replace('\n\n[vars]', `\n\n${STANZA}\n[vars]`))
  })

  test('refuses services written as one array, and changes nothing', () => {
    const text = 'name = "e"\nservices = [{ binding = "A", service = "a" }]\n'
    expect(() => bindIn('wrangler.toml', text)).toThrow('The binding could not be written into wrangler.toml.')
  })

  test('refuses a binding that is taken', () => {
    expect(() => bindIn('wrangler.toml', STANZA)).toThrow('wrangler.toml has a binding TOOL_DICE already.')
  })
})

describe('binding a service in JSONC', () => {
  const item = (indent: string) => `{\n${indent}  "binding": "TOOL_DICE",\n${indent}  "service": "my-dice"\n${indent}}`

  test('adds it at the end of the array, and keeps comments', () => {
    const text =
      '{\n  // "services": []\n  "services": [\n    { "binding": "A", "service": "]" } // one\n  ],\n  "name": "e"\n}\n'
    expect(bindIn('wrangler.jsonc', text)).toBe(text.replace('} // one', `}, // one\n    ${item('    ')}`))
  })

  test('keeps a trailing comma', () => {
    const text = '{\n  "services": [\n    { "binding": "A", "service": "a" },\n  ],\n}\n'
    expect(bindIn('wrangler.jsonc', text)).toBe(text.replace('"a" },', `"a" },\n    ${item('    ')}`))
  })

  test('adds the array if there is none', () => {
    expect(bindIn('wrangler.json', '{\n  "name": "e"\n}\n')).toBe(
      `{\n  "name": "e",\n  "services": [\n    ${item('    ')}\n  ]\n}\n`,
    )
  })
})
