/**
 * Converts HTML to plain text, in one pass and in linear time for any input: no tree is built, and no tag has to be
 * closed. Scripts, styles, and the navigation and footers around the content are left out; blocks become lines, and
 * list items begin with a dash.
 */
import { decodeEntities } from './entity.ts'

export interface Extract {
  /** `''` for a page without a title. */
  readonly title: string
  readonly text: string
}

/** Elements whose content is skipped, up to their end tag. The content of `title` is kept as the title. */
const RAW = /^(?:script|style|title|textarea|noscript|template|iframe|object|svg|math|select|canvas|audio|video)$/
/** Elements that surround the content of a page: its frame. */
const FRAME = /^(?:nav|footer|aside|form|dialog|button)$/
const BLOCK =
  /^(?:p|div|section|article|main|header|address|blockquote|figure|figcaption|h[1-6]|ul|ol|dl|dt|dd|pre|table|tr|hr|br|details|summary|body)$/
const APART = /^(?:p|h[1-6]|ul|ol|dl|pre|table|blockquote|hr|section|article|main|header)$/

/** A tag with its attributes. The expression matches without backtracking, whatever the input. */
const TAG = /<(\/?)([a-z][^\s/>]*)(?:[^>"']+|"[^"]*"|'[^']*')*[^>]*>?/iy

/**
 * Extracts the title and the readable text of a page: the text of its `main` element if it has one. The frame is left
 * out, unless one of its elements is never closed or no text is left without it.
 */
export function readHtml(html: string): Extract {
  const framed = extract(html, true)
  return framed?.text ? framed : (extract(html, false) ?? { title: '', text: '' })
}

/** Returns undefined if an element of the frame is never closed, so that its extent is unknown. */
function extract(html: string, leavesOutFrame: boolean): Extract | undefined {
  const collector = new TextCollector()
  let frames = 0
  for (let at = 0; at < html.length;) {
    const next = html.indexOf('<', at)
    const end = next < 0 ? html.length : next
    if (frames === 0) collector.add(html.slice(at, end))
    if (next < 0) break
    TAG.lastIndex = next
    const [tag = '', slash = '', written = ''] = TAG.exec(html) ?? []
    if (tag === '') {
      at = endOfOther(html, next)
      if (at === next + 1 && frames === 0) collector.add('<')
      continue
    }
    const name = written.toLowerCase()
    at = next + tag.length
    if (RAW.test(name) && slash === '') {
      const content = rawContent(html, at, name)
      if (name === 'title' && collector.title === '') collector.title = content
      at += content.length
    } else if (leavesOutFrame && FRAME.test(name)) frames = Math.max(0, frames + (slash === '' ? 1 : -1))
    else if (frames === 0) collector.mark(name, slash !== '')
  }
  return frames > 0 ? undefined : collector.extract()
}

/** Returns the end of a comment, a declaration or a malformed end tag; `at + 1` if `<` is a plain character. */
function endOfOther(html: string, at: number): number {
  const close = html.startsWith('<!--', at) ? '-->' : /[!?/]/.test(html.charAt(at + 1)) ? '>' : ''
  if (close === '') return at + 1
  const end = html.indexOf(close, at + 2)
  return end < 0 ? html.length : end + close.length
}

/** Returns the text up to the end tag `name`, or all the rest if there is none. */
function rawContent(html: string, at: number, name: string): string {
  const end = new RegExp(`</${name}(?![^\\s/>])`, 'gi')
  end.lastIndex = at
  return html.slice(at, end.exec(html)?.index ?? html.length)
}

/** Collects the text of a page. */
class TextCollector {
  title = ''
  readonly #pieces: string[] = []
  #isLineStart = true
  #pre = 0
  /** The indices in `#pieces` at which the page's `main` element begins and ends. */
  #main: number | undefined
  #mainEnd: number | undefined

  add(source: string): void {
    const words = this.#pre > 0 ? source : source.replace(/\s+/g, ' ')
    const piece = this.#isLineStart && this.#pre === 0 ? words.trimStart() : words
    if (piece === '') return
    this.#isLineStart = piece.endsWith(' ')
    this.#pieces.push(decodeEntities(piece))
  }

  mark(name: string, closes: boolean): void {
    if (name === 'li') this.#break(closes ? '' : '\n- ')
    else if (name === 'td' || name === 'th') this.#break(this.#isLineStart ? '' : ' ')
    else if (BLOCK.test(name)) this.#break(APART.test(name) ? '\n\n' : '\n')
    if (name === 'pre') this.#pre = Math.max(0, this.#pre + (closes ? -1 : 1))
    if (name !== 'main') return
    if (closes) this.#mainEnd ??= this.#pieces.length
    else this.#main ??= this.#pieces.length
  }

  extract(): Extract {
    const main = this.#main === undefined ? '' : tidy(this.#pieces.slice(this.#main, this.#mainEnd))
    const title = decodeEntities(this.title).replace(/\s+/g, ' ').trim()
    return { title, text: main === '' ? tidy(this.#pieces) : main }
  }

  #break(piece: string): void {
    if (piece === '') return
    this.#pieces.push(piece)
    this.#isLineStart = true
  }
}

function tidy(pieces: readonly string[]): string {
  const lines = pieces.join('').replaceAll('\u00a0', ' ').split(/\r?\n/)
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+|\n+$/g, '')
}
