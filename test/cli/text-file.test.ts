import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readDocumentFile } from '../../src/cli/import.ts'
import { readTextFile } from '../../src/cli/text-file.ts'

const TEXT = '{ "city": "Zürich 東京 😀" }'

function fileOf(bytes: Uint8Array, name = 'file.json'): string {
  const folder = mkdtempSync(join(tmpdir(), 'text-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, name)
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

/** Numbers as a document writes them, and what is read of them. */
const NUMBERS: readonly (readonly [string, unknown])[] = [
  ['0', 0],
  ['-7', -7],
  ['9007199254740991', 2 ** 53 - 1],
  ['9007199254740993', '9007199254740993'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['9223372036854775807', '9223372036854775807'],
  ['0.1', 0.1],
  ['0.1234567890123456789', '0.1234567890123456789'],
  ['3.0', 3],
  ['1e3', 1000],
  ['1e400', '1e400'],
]

test.each([
  ['JSON', 'file.json', (text: string) => `{ "values": [${text}] }`],
  ['YAML', 'file.yaml', (text: string) => `values: [${text}]`],
  ['YAML in blocks', 'file.yml', (text: string) => `values:\n${text.replaceAll(/(?:^|, )/g, '\n  - ')}\n`],
])('no number of a file in %s is rounded', (_, name, documentOf) => {
  const file = fileOf(Buffer.from(documentOf(NUMBERS.map(([text]) => text).join(', '))), name)
  expect(readDocumentFile(file)).toEqual({ values: NUMBERS.map(([, value]) => value) })
})

test('numbers of YAML that JSON does not have are read as they are', () => {
  const file = fileOf(
    Buffer.from('[0x1F, 0o17, .inf, -.inf, .5, 5., +9007199254740993, "9007199254740993", 012]'),
    'a.yaml',
  )
  expect(readDocumentFile(file)).toEqual([
    31,
    15,
    Infinity,
    -Infinity,
    0.5,
    5,
    '9007199254740993',
    '9007199254740993',
    12,
  ])
})
