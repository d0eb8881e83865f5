import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type Page, pageOf, pages, ROOT } from './pages.ts'

/** Returns the links of a page that lead to no file, or to no heading of it. */
function brokenLinks({ path, links }: Page, all: ReadonlyMap<string, Page>): string[] {
  return links.filter((link) => {
    if (/^(?:https?|mailto):/.test(link)) return false
    const [target = '', anchor] = link.split('#')
    const file = target === '' ? path : join(dirname(path), target)
    if (!existsSync(join(ROOT, file)) && !all.has(file)) return true
    return anchor !== undefined && !all.get(file)?.anchors.has(anchor)
  })
}

const all = new Map(pages().map((page) => [page.path, page]))

test('every relative link in the documentation leads to a file, and to a heading if it names one', () => {
  const broken = [...all.values()].flatMap((page) => brokenLinks(page, all).map((link) => `${page.path}: ${link}`))
  expect(broken).toEqual([])
})

test('README leads to every page of docs/, directly or by way of another page', () => {
  const reached = new Set(['README.md'])
  for (const path of reached) {
    const targets = all.get(path)?.links.map((link) => join(dirname(path), link.split('#')[0] ?? '')) ?? []
    for (const target of targets) if (all.has(target)) reached.add(target)
  }
  expect([...all.keys()].filter((path) => path.startsWith('docs/') && !reached.has(path))).toEqual([])
})

test('README, the pages and the examples are in the package, with every file that they link to', async () => {
  const run = promisify(execFile)
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: ROOT })
  const [{ files }]: [{ files: { path: string }[] }] = JSON.parse(stdout)
  const packed = new Set(files.map(({ path }) => path))
  expect([...all.keys()].filter((path) => /^(?:docs|examples)\//.test(path) && !packed.has(path))).toEqual([])
  const missing = [...packed].flatMap((path) => {
    const links = all.get(path)?.links.filter((link) => !/^(?:https?:|#)/.test(link)) ?? []
    const targets = links.map((link) => join(dirname(path), link.split('#')[0] ?? ''))
    return targets.filter((target) => !packed.has(target)).map((target) => `${path}: ${target}`)
  })
  expect(missing).toEqual([])
})

test('README has at most 150 lines', () => {
  expect(all.get('README.md')?.text.trimEnd().split('\n').length).toBeLessThanOrEqual(150)
})

test('every page of docs/ has at most 1,800 words', () => {
  const counts = [...all.values()].map(({ path, text }) => [path, text.trim().split(/\s+/).length] as const)
  expect(counts.filter(([path, words]) => path.startsWith('docs/') && words > 1800)).toEqual([])
})

test('a missing file and a missing heading are reported', () => {
  const text = '# One\n\n[a](two.md) [b](README.md#one) [c](README.md#none) [d](#one) `[e](code.md)`\n'
  const page = pageOf('README.md', text)
  expect(brokenLinks(page, new Map([['README.md', page]]))).toEqual(['two.md', 'README.md#none'])
})
