import { readdirSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  diagramFile,
  llmsText,
  pageFiles,
  pageText,
  sections,
  siteLink,
  sitePath,
} from '../../docs/.vitepress/site.mts'
import { pages, ROOT } from './pages.ts'

test('links lead to the pages of the site, from wherever they stand', () => {
  expect([
    siteLink('docs/README.md', 'tools.md#schemas'),
    siteLink('docs/tools.md', '../examples/films/README.md'),
    siteLink('examples/films/README.md', '../../docs/later.md'),
    siteLink('docs/reference.md', '../CHANGELOG.md'),
    siteLink('docs/first-edge.md', 'README.md'),
    siteLink('docs/metrics.md', 'grafana-dashboard.json'),
    siteLink('docs/traces.md', 'https://www.w3.org/TR/trace-context/'),
  ]).toEqual([
    '/tools.md#schemas',
    '/examples/films.md',
    '/later.md',
    '/changelog.md',
    '/index.md',
    undefined,
    undefined,
  ])
})

test('each page is in the site as Markdown, whose links lead to Markdown', () => {
  const paths = pageFiles().map(sitePath)
  expect(new Set(paths).size).toBe(pageFiles().length)
  const film = pageText('examples/films/README.md')
  expect(film).toContain('(../later.md)')
  expect(pageFiles().filter((path) => pageText(path).includes('(../../docs/'))).toEqual([])
})

test('llms.txt lists every page of the documentation but its contents and the skill, with what it says', () => {
  const text = llmsText('A kit.')
  expect(text.split('\n').slice(0, 6)).toEqual(['# Edgecall', '', '> A kit.', '', '## Start', ''])
  const addresses = [...text.matchAll(/^- \[.+\]\((.+)\): .{10,}$/gm)].map(([, path = '']) => path)
  const expected = pageFiles().filter((path) => /^docs\/[\w-]+\.md$/.test(path) && path !== 'docs/README.md')
  expect(addresses.toSorted()).toEqual([...expected.map(sitePath), 'examples/index.md'].toSorted())
  expect(sections().map(({ title }) => title)).toEqual(['Start', 'Tools', 'The edge', 'Operation', 'Reference'])
})

test('each diagram has its picture, and no other is left: else run `npm run pictures`', () => {
  const diagrams = pages().flatMap(({ blocks }) => blocks.filter(({ language }) => language === 'mermaid'))
  const pictures = readdirSync(`${ROOT}docs/pictures`)
  expect(pictures.filter((name) => name.startsWith('diagram-')).toSorted()).toEqual(
    diagrams.map(({ text }) => diagramFile(text)).toSorted(),
  )
})

test('each other picture is shown on a page, and has at most 150 kB', () => {
  const links = pages().flatMap((page) => page.links.filter((link) => link.endsWith('.png')))
  const names = new Set(links.map((link) => link.replace(/^(?:docs\/)?pictures\//, '')))
  const pictures = readdirSync(`${ROOT}docs/pictures`).filter((name) => name.endsWith('.png'))
  expect(pictures.toSorted()).toEqual([...names].toSorted())
  expect(pictures.filter((name) => statSync(`${ROOT}docs/pictures/${name}`).size > 150_000)).toEqual([])
})
