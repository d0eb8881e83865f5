/** What the site of these pages has, under which addresses. The configuration beside this file builds it. */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

export const ROOT = new URL('../..', import.meta.url).pathname

/** An entry of docs/README.md. */
export interface Entry {
  readonly title: string
  /** The file in the repository. */
  readonly path: string
  /** What the page says, in a few words. */
  readonly text: string
}

export interface Section {
  readonly title: string
  readonly entries: readonly Entry[]
}

/** Returns the sections of docs/README.md: each a bold title, and a list of links with what the pages say. */
export function sections(): readonly Section[] {
  const contents = readFileSync(`${ROOT}docs/README.md`, 'utf8')
  return [...contents.matchAll(/^\*\*(.+)\*\*\n\n((?:- .*\n|  .*\n)+)/gm)].map(([, title = '', list = '']) => ({
    title,
    entries: [...list.matchAll(/^- \[([^\]]+)\]\(([^)]+)\):? *([^]*?)(?=\n- |\n$)/gm)].map(
      ([, name = '', link = '', text = '']) => {
        return { title: name, path: posix.join('docs', link), text: text.replaceAll(/\s+/g, ' ') }
      },
    ),
  }))
}

/** Returns the Markdown files of the repository that are pages of the site. */
export function pageFiles(): readonly string[] {
  return globSync(['docs/**/*.md', 'examples/*.md', 'examples/*/README.md', 'CHANGELOG.md'], { cwd: ROOT }).toSorted()
}

/** Returns the path of a page in the site: `examples/films/README.md` is `examples/films.md`. */
export function sitePath(path: string): string {
  if (path === 'docs/README.md') return 'index.md'
  if (path === 'examples/README.md') return 'examples/index.md'
  return path
    .replace(/^docs\//, '')
    .replace(/\/README\.md$/, '.md')
    .toLowerCase()
}

/**
 * Returns where a link of a page leads in the site, from its root, such as `/tools.md#schemas`; undefined if it leads to
 * none of its pages.
 */
export function siteLink(from: string, href: string): string | undefined {
  const [target = '', anchor] = href.split('#')
  const file = posix.join(posix.dirname(from), target)
  if (/^[a-z]+:/.test(href) || !pageFiles().includes(file)) return undefined
  return `/${sitePath(file)}${anchor === undefined ? '' : `#${anchor}`}`
}

/** Returns a page as the site offers it to programs: its Markdown, with links to the Markdown of other pages. */
export function pageText(path: string): string {
  const depth = sitePath(path).split('/').length - 1
  const text = readFileSync(`${ROOT}${path}`, 'utf8').replaceAll(/<!--[^]*?-->\n*/g, '')
  return text.replaceAll(/(?<=\]\()[^)\s]+(?=\))/g, (href) => {
    const link = siteLink(path, href)
    return link === undefined ? href : `${'../'.repeat(depth)}${link.slice(1)}`
  })
}

/** Returns `llms.txt`: all pages, with what they say, for programs that look for one. */
export function llmsText(description: string): string {
  const lists = sections().map(({ title, entries }) => {
    const lines = entries.map(({ title: name, path, text }) => `- [${name}](${sitePath(path)}): ${text}`)
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  return `# Edgecall\n\n> ${description}\n\n${lists.join('\n')}`
}

/** Returns the picture of a diagram, in docs/pictures. Its name is that of the diagram’s text, so none is out of date. */
export function diagramFile(source: string): string {
  return `diagram-${createHash('sha256').update(source.trim()).digest('hex').slice(0, 12)}.svg`
}
