import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SCOPES } from '../../src/contract/api-key.ts'
import { MUTATIONS } from './mutations.ts'

const ROOT = new URL('../..', import.meta.url).pathname

test.each(MUTATIONS)('the mutation “$control” changes one place of $file and names a test file', (mutation) => {
  const parts = readFileSync(`${ROOT}/src/${mutation.file}`, 'utf8').split(mutation.text)
  expect(parts).toHaveLength(2)
  expect(existsSync(`${ROOT}/test/${mutation.test}`)).toBe(true)
})

const README = readFileSync(`${ROOT}/test/security/README.md`, 'utf8')

/** Expands `a/{b,c}`. */
function expand(path: string): readonly string[] {
  const [, start = '', list, end = ''] = /^(.*)\{(.*)\}(.*)$/.exec(path) ?? []
  return list === undefined ? [path] : list.split(',').map((each) => `${start}${each}${end}`)
}

test('the table of controls has the number of scopes', () => {
  expect(SCOPES).toHaveLength(9)
  expect(README).toContain('| Nine scopes, and those of `TOOL_POLICY`.')
})

test('every file that the tables of controls name exists', () => {
  const paths = [...README.matchAll(/`([a-z][\w.{},-]*\/[\w/.{},-]*)`/g)].flatMap(([, path = '']) => expand(path))
  expect(paths.length).toBeGreaterThan(60)
  const places = (path: string) =>
    ['', 'test/', 'src/'].flatMap((folder) => [folder + path, `${folder}${path}.test.ts`])
  expect(paths.filter((path) => !places(path).some((place) => existsSync(`${ROOT}/${place}`)))).toEqual([])
})
