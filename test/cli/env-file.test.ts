import fc from 'fast-check'
import { mkdtempSync, rmSync, writeFileSync, existsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unstable_getVarsForDev as readAsWranglerDoes } from 'wrangler'
import { afterAll, expect, test } from 'vitest'
import { encodeEnv, writeEnvFile } from '../../src/cli/env-file.ts'
import { Failure } from '../../src/cli/failure.ts'

const folder = mkdtempSync(join(tmpdir(), 'env-file-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What the edge would get. */
function read(path: string): Record<string, unknown> {
  const bindings = readAsWranglerDoes(join(folder, 'wrangler.toml'), [path], {}, undefined, true)
  return Object.fromEntries(
    Object.entries(bindings).map(([name, binding]) => [name, 'value' in binding && binding.value]),
  )
}

function roundTrip(variables: Record<string, string>): Record<string, unknown> {
  const path = join(folder, 'edge.env')
  writeFileSync(path, encodeEnv(variables))
  return read(path)
}

test.each([
  ['empty', ''],
  ['JSON', '[{"sha256":"00","scopes":["chat"],"note":"line\\nbreak \\"quoted\\" \\u0027"}]'],
  ['several lines', '# Rules\n\n- say "no"\n- don\'t # shout\n'],
  ['references', '$HOME ${HOME} ${HOME:-x} \\$HOME \\${HOME} $$ $& $1'],
  ['quotes of one kind', `'''`],
  ['spaces around', '  a = b  '],
  ['other scripts', '明天是多少号？ 🙂'],
])('a value is read back unchanged: %s', (_kind, value) => {
  expect(roundTrip({ BEFORE: 'x', VALUE: value, AFTER: "y'" })).toEqual({ BEFORE: 'x', VALUE: value, AFTER: "y'" })
})

test('backticks are written by means of a second variable', () => {
  const variables = { FIRST: '`', SECOND: 'a `b` $`c`', THIRD: 'none' }
  expect(roundTrip(variables)).toEqual({ BACKTICK: '`', ...variables })
})

test('line breaks are written as \\n', () => {
  expect(roundTrip({ VALUE: 'a\r\nb\rc' })).toEqual({ VALUE: 'a\nb\nc' })
})

test('a value that cannot be written is refused by the name of its variable', () => {
  const refusal = new Failure('A holds a backslash before a backtick or at its end, which wrangler cannot be given.')
  expect(() => encodeEnv({ A: 'C:\\' })).toThrow(refusal)
  expect(() => encodeEnv({ A: 'not \\`code\\`' })).toThrow(refusal)
})

/** What dotenv and dotenv-expand give a meaning to. */
const PIECES = [
  "'",
  '"',
  '`',
  '$',
  '\\',
  '{',
  '}',
  '#',
  '=',
  '\n',
  ' ',
  '\t',
  ':',
  '-',
  '+',
  'n',
  'BACKTICK',
  '${',
  '\nA=',
]

test('every value that can be written is read back unchanged', () => {
  const value = fc.string({ unit: fc.constantFrom(...PIECES) }).filter((text) => !/\\(`|$)/.test(text))
  fc.assert(
    fc.property(value, value, (a, b) => {
      const { A, B } = roundTrip({ A: a, B: b })
      expect({ A, B }).toEqual({ A: a, B: b })
    }),
    { numRuns: 200, examples: [['${BACKTICK}`', '']] },
  )
})

test('the file is readable only by this user, lies outside the repository, and is removed', () => {
  const file = writeEnvFile({ OPENAI_API_KEY: 'sk-1' })
  expect(file.path.startsWith(tmpdir())).toBe(true)
  expect(statSync(file.path).mode & 0o777).toBe(0o600)
  expect(statSync(file.folder).mode & 0o777).toBe(0o700)
  expect(read(file.path)).toEqual({ OPENAI_API_KEY: 'sk-1' })
  file.remove()
  expect(existsSync(file.folder)).toBe(false)
})
