import PostalMime from 'postal-mime'

/** Elements and comments whose text is not shown. */
const HIDDEN = /^<(script|style|head|title|template)(?![\w-])/i
const TAG = /^<(\/?)([a-z][a-z0-9]*)(?![\w-])/i
/** Elements that begin and end a line. */
const BLOCKS = new Set(
  'address article aside blockquote center dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul'.split(
    ' ',
  ),
)
/** A tag up to its end, which may also stand in quotes. */
const WHOLE_TAG = /<[a-z][^<>"']*(?:(?:"[^"<]*"|'[^'<]*')[^<>"']*)*>/iy
/** What marks an element that no browser shows. One of these elements, since each name may be looked for in vain once. */
const UNSHOWN = /\s(?:hidden(?![\w-])|style ?= ?["'][^"']*display ?: ?none)/i
const MAY_HIDE = /^(?:div|span|p|table|tr|td)$/
/** The most characters of a tag that are looked at, and the most of an address that is shown. */
const MOST_TAG = 4096
const MOST_ADDRESS = 1000
/** The most names of characters in one document that the library is asked for. */
const MOST_NAMES = 500
const NAMES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
])

/**
 * Returns the text in a document, in lines: the cells of a row with tabs between them, links with their addresses, images by
 * their descriptions. It is for a model to read: nothing shows it as HTML. One pass: an element or comment that does not
 * end takes the rest with it, so that nothing is searched twice.
 */
export async function textOfHtml(html: string): Promise<string> {
  let isPre = false
  const source = html.replaceAll(/<(\/?)pre(?![\w-])[^<>]*>|\s+/gi, (match, slash: string | undefined) => {
    if (slash === undefined) return isPre && match.includes('\n') ? '<br>'.repeat(match.split('\n').length - 1) : ' '
    isPre = slash === ''
    return `<${slash}pre>`
  })
  const pieces: string[] = []
  /** What the text ends with: a space or line break there makes further ones needless. */
  let isAtLineStart = true
  let endsWithSpace = true
  let link: { readonly address: string; readonly from: number } | undefined
  const push = (text: string) => {
    const own = endsWithSpace && text.startsWith(' ') ? text.slice(1) : text
    if (own === '') return
    pieces.push(own)
    isAtLineStart = own.endsWith('\n')
    endsWithSpace = /[ \n\t]$/.test(own)
  }
  const breakLine = () => {
    if (!isAtLineStart) push('\n')
  }
  const endLink = () => {
    if (!link) return
    const { address, from } = link
    link = undefined
    // A link that shows its own address says it once.
    if (pieces.slice(from).join('').trim() !== address) push(` (${address}) `)
  }
  /** Where the latest cell of a table begins. */
  let cell = 0
  const endless = new Set<string>()
  let at = 0
  while (at < source.length) {
    const tag = source.indexOf('<', at)
    WHOLE_TAG.lastIndex = tag
    const end = tag === -1 ? -1 : WHOLE_TAG.test(source) ? WHOLE_TAG.lastIndex - 1 : source.indexOf('>', tag)
    push(source.slice(at, end === -1 ? source.length : tag))
    if (end === -1) break
    const start = source.slice(tag, tag + 16)
    const [, hidden] = HIDDEN.exec(start) ?? []
    if (hidden !== undefined || start.startsWith('<!--')) {
      const close = hidden === undefined ? /-->/g : new RegExp(`</${hidden} ?>`, 'gi')
      close.lastIndex = hidden === undefined ? tag + 4 : end + 1
      at = close.test(source) ? close.lastIndex : source.length
      continue
    }
    at = end + 1
    const [, slash, element = ''] = TAG.exec(start) ?? []
    const name = element.toLowerCase()
    const attributes = () => source.slice(tag, Math.min(end, tag + MOST_TAG))
    if (slash === '' && MAY_HIDE.test(name) && !endless.has(name) && UNSHOWN.test(attributes())) {
      const close = endOf(source, name, end)
      if (close === -1) endless.add(name)
      else at = close
    }
    if (name === 'br') push('\n')
    else if (BLOCKS.has(name)) {
      // The paragraphs of a cell are in its line.
      if (pieces.at(-1) !== '\t' || name === 'tr' || name === 'table') breakLine()
    } else if (name === 'td' || name === 'th') {
      if (slash === '/') while (pieces.length > cell && pieces.at(-1) === '\n') pieces.pop()
      if (slash === '/' || (!isAtLineStart && pieces.at(-1) !== '\t')) push('\t')
      cell = pieces.length
    } else if (name === 'a') {
      endLink()
      const address = slash === '' ? attributeOf(attributes(), HREF) : ''
      if (/^(?:https?|mailto|tel):/i.test(address))
        link = { address: address.slice(0, MOST_ADDRESS), from: pieces.length }
    } else if (name === 'img') push(attributeOf(attributes(), ALT))
    if (name === 'li' && slash === '') push('- ')
  }
  endLink()
  const lines = pieces.join('').split('\n')
  return decodeEntities(lines.map((line) => line.trimEnd()).join('\n'))
}

/** Returns where an element ends whose tag ends there; -1 if it does not. */
function endOf(source: string, name: string, tagEnd: number): number {
  const tags = new RegExp(`<(/?)${name}(?![\\w-])[^<>]*>`, 'gi')
  tags.lastIndex = tagEnd + 1
  for (let depth = 1, tag = tags.exec(source); tag; tag = tags.exec(source)) {
    depth += tag[1] === '' ? 1 : -1
    if (depth === 0) return tags.lastIndex
  }
  return -1
}

const HREF = /\shref ?= ?(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i
const ALT = /\salt ?= ?(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i

/** Returns the value of an attribute; empty if the tag has none. */
function attributeOf(tag: string, pattern: RegExp): string {
  const [, double, single, plain] = pattern.exec(tag) ?? []
  return (double ?? single ?? plain ?? '').trim()
}

const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z][a-z\d]{1,31}));/gi

/** Replaces the references to characters (HTML standard, 13.5). */
async function decodeEntities(text: string): Promise<string> {
  const unknown = new Set<string>()
  for (const [, , , name] of text.matchAll(ENTITY)) {
    if (name !== undefined && !NAMES.has(name) && unknown.size < MOST_NAMES) unknown.add(name)
  }
  const characters = unknown.size === 0 ? NAMES : new Map([...NAMES, ...(await charactersOf([...unknown]))])
  return text.replaceAll(ENTITY, (entity, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return characters.get(name) ?? entity
    return characterOf(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal))
  })
}

const WINDOWS = new TextDecoder('windows-1252')

/** Returns the character of a number. Those from 128 to 159 mean characters of Windows, as browsers show them. */
function characterOf(code: number): string {
  if (code >= 0x80 && code <= 0x9f) return WINDOWS.decode(new Uint8Array([code]))
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : '\ufffd'
}

/**
 * Asks the library, which has the 2,000 names of HTML and converts the HTML of a message to text beside another part, for the
 * characters of names. Returns those that it knows.
 */
async function charactersOf(names: readonly string[]): Promise<[string, string][]> {
  const list = names.map((name) => `[&${name};]`).join('')
  const message = `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n-\r\n--b\r\nContent-Type: text/html\r\n\r\n${list}\r\n--b--`
  const { text = '' } = await PostalMime.parse(message)
  const texts = text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')).split('][')
  return names.flatMap((name, at): [string, string][] => {
    const character = texts[at]
    return character === undefined || character.startsWith('&') ? [] : [[name, character]]
  })
}
