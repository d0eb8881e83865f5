import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readTextFile } from '../../src/cli/text-file.ts'

const TEXT = '{ "city": "Zürich 東京 😀" }'

function fileOf(bytes: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'text-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'file.json')
  writeFileSync(file, bytes)
  return file
}

const utf16 = (text: string) => Buffer.from(text, 'utf16le')

test.each([
  ['UTF-8', Buffer.from(TEXT)],
  ['UTF-8 with a mark', Buffer.from(`\uFEFF${TEXT}`)],
  ['little-endian UTF-16 with a mark', utf16(`\uFEFF${TEXT}`)],
  ['little-endian UTF-16', utf16(TEXT)],
  ['big-endian UTF-16 with a mark', utf16(`\uFEFF${TEXT}`).swap16()],
  ['big-endian UTF-16', utf16(TEXT).swap16()],
])('a file in %s is read as its text', (_, bytes) => {
  expect(readTextFile(fileOf(bytes))).toBe(TEXT)
})

test.each([[''], ['a'], ['\uFEFF']])('a file of %j has no text that is not in it', (text) => {
  expect(readTextFile(fileOf(Buffer.from(text)))).toBe(text.replace('\uFEFF', ''))
})

test('a file in another encoding is refused with what to do', () => {
  expect(() => readTextFile(fileOf(Buffer.from('Zürich', 'latin1')))).toThrow('it is not valid UTF-8: save it as UTF-8')
})
