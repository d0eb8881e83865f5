import { globSync, readFileSync } from 'node:fs'

export const ROOT = new URL('../..', import.meta.url).pathname

/** A fenced block of a page. */
export interface Block {
  /** Path of the page in the repository. */
  readonly page: string
  /** Line of the page on which the text of the block begins, from 1. */
  readonly line: number
  readonly language: string
  /** The second word of the fence, such as `run` of "```sh run". */
  readonly kind: string
  readonly text: string
  /** Code from the comment `<!-- given: … -->` before the block: what the block needs and a reader does not. */
  readonly given: string
}

export interface Page {
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
  /** The ids of its headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>
  /** The targets of its links and images, outside of code. */
  readonly links: readonly string[]
}

/** Returns all Markdown pages that readers of the project are led to. */
export function pages(): Page[] {
  return globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], {
    cwd: ROOT,
    exclude: (path) => /node_modules/.test(path),
  })
    .sort()
    .map((path) => pageOf(path, readFileSync(`${ROOT}${path}`, 'utf8')))
}

export function pageOf(path: string, text: string): Page {
  const prose = text.replaceAll(FENCE, '').replaceAll(/<!--[^]*?-->/g, '')
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => anchorOf(title))
  const withoutCode = prose.replaceAll(/`[^`\n]*`/g, '')
  return {
    path,
    text,
    blocks: blocksOf(path, text),
    anchors: new Set(headings),
    links: [...withoutCode.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target),
  }
}

const FENCE = /(?:^<!-- given: (?<given>[^]*?) -->\n\n?)?^```(?<language>\w+)(?: (?<kind>\w+))?\n(?<text>[^]*?)^```$/gm

function blocksOf(page: string, text: string): Block[] {
  return [...text.matchAll(FENCE)].map(({ groups = {}, index, 0: whole }) => {
    const { given = '', language = '', kind = '', text: code = '' } = groups
    const start = index + whole.length - '```'.length - code.length
    return { page, line: text.slice(0, start).split('\n').length, language, kind, text: code, given }
  })
}

/** Returns the id that GitHub gives to a heading. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
