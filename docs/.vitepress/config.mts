import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { diagramFile, llmsText, pageFiles, pageText, ROOT, sections, siteLink, sitePath } from './site.mts'

/**
 * The site of these pages: `npx vitepress@1.6.4 build docs`, or `dev docs` to write them. VitePress is not a dependency of
 * this repository, so Vue is taken from where npx has put VitePress, and bundled with all that it needs: the repository
 * has other versions of some of it.
 */
const vue = dirname(createRequire(process.argv[1] ?? '').resolve('vue/package.json'))

const { description }: { description: string } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))

const linkTo = (path: string) => `/${sitePath(path).replace(/(?:index)?\.md$/, '')}`
const sidebar = sections().map(({ title, entries }) => ({
  text: title,
  items: entries.map(({ title: text, path }) => ({ text, link: linkTo(path) })),
}))

/** What TypeDoc has made of the doc comments, if it was run before. */
const reference = `${ROOT}docs/.vitepress/reference`
const exports = existsSync(reference) ? [{ text: 'Exports', link: '/reference/index.html', target: '_self' }] : []

/** The title page, above the contents of docs/README.md. */
const HOME = {
  layout: 'home',
  hero: {
    name: 'Edgecall',
    text: 'Your model calls your tools, on Cloudflare',
    tagline:
      'Write a schema and a function. The edge runs the calls, keeps the conversation, asks people first where it must, and loses nothing in a crash.',
    actions: [
      { theme: 'brand', text: 'Your first edge', link: '/first-edge' },
      { theme: 'alt', text: 'Write a tool', link: '/tools' },
      { theme: 'alt', text: 'Examples', link: '/examples/' },
    ],
  },
}

/** What is used here of Markdown-it, which VitePress brings. */
interface Token {
  type: string
  tag: string
  content: string
  attrs: unknown
  readonly info: string
  readonly children: readonly Token[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}
interface MarkdownState {
  readonly tokens: readonly Token[]
  readonly env: { readonly realPath?: string; readonly path: string }
}
interface Markdown {
  readonly core: { readonly ruler: { push(name: string, rule: (state: MarkdownState) => void): void } }
}

/** Leads links between Markdown files to their pages, and shows diagrams as their pictures. */
function configureMarkdown(markdown: Markdown): void {
  markdown.core.ruler.push('site', ({ tokens, env: { path, realPath = path } }) => {
    for (const token of tokens) {
      if (token.type === 'inline') leadLinks(relative(ROOT, realPath), token.children ?? [])
      if (token.type !== 'fence' || token.info.trim() !== 'mermaid') continue
      const picture = relative(dirname(realPath), join(ROOT, 'docs/pictures', diagramFile(token.content)))
      Object.assign(token, { type: 'html_block', content: `<img alt="Diagram" src="./${picture}">\n` })
    }
  })
}

function leadLinks(from: string, tokens: readonly Token[]): void {
  for (const [index, token] of tokens.entries()) {
    const href = token.type === 'link_open' ? (token.attrGet('href') ?? '') : ''
    const link = siteLink(from, href)
    if (link) token.attrSet('href', link)
    else if (/^[\w.][\w./-]*\//.test(href)) {
      // A file of the repository that is not in the site: only its name is shown.
      token.attrs = null
      const end = tokens.slice(index).find(({ type }) => type === 'link_close')
      for (const each of [token, end]) if (each) each.tag = 'span'
    }
  }
}

/** Adds what programs read: each page as Markdown, and `llms.txt`; and the files that pages link to. */
function addTexts({ outDir }: { readonly outDir: string }): void {
  for (const path of pageFiles()) {
    const file = join(outDir, sitePath(path))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, pageText(path))
  }
  writeFileSync(join(outDir, 'llms.txt'), llmsText(description))
  cpSync(`${ROOT}docs/pictures`, join(outDir, 'pictures'), { recursive: true })
  if (existsSync(reference)) cpSync(reference, join(outDir, 'reference'), { recursive: true })
  for (const file of ['grafana-dashboard.json', 'prometheus-alerts.yml'])
    cpSync(`${ROOT}docs/${file}`, join(outDir, file))
}

export default {
  title: 'Edgecall',
  description,
  srcDir: '..',
  srcExclude: ['src/**', 'tools/**', 'test/**', 'README.md', 'AGENTS.md', 'CONTRIBUTING.md'],
  rewrites: Object.fromEntries(pageFiles().map((path) => [path, sitePath(path)])),
  // The dashboard is a file beside the pages.
  ignoreDeadLinks: [/grafana-dashboard|prometheus-alerts/],
  markdown: { config: configureMarkdown },
  transformPageData: ({ relativePath }: { readonly relativePath: string }) =>
    relativePath === 'index.md' ? { frontmatter: HOME } : undefined,
  buildEnd: addTexts,
  themeConfig: {
    nav: [
      { text: 'Start', link: '/first-edge' },
      { text: 'Examples', link: '/examples/' },
      { text: 'API reference', link: '/reference' },
      ...exports,
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar,
    outline: 'deep',
    search: { provider: 'local' },
  },
  vite: { resolve: { alias: { vue } }, ssr: { noExternal: true } },
}
