import { isObject } from '../../contract/json.ts'
import { blankComments } from '../project/jsonc.ts'
import { indexOfSame } from './merge-values.ts'

/** A value in a text: from where to where, and what it is made of. */
interface Span {
  readonly start: number
  readonly end: number
  /** Of an object. */
  readonly members?: ReadonlyMap<string, Span>
  /** Of an array. */
  readonly items?: readonly Span[]
}

interface Edit {
  readonly at: number
  readonly end: number
  readonly text: string
}

/** Returns the text of a JSONC object with the members in it. All other text stays as it is. */
export function mergeJsonText(text: string, content: Readonly<Record<string, unknown>>): string {
  if (text.trim() === '') return `${JSON.stringify(content, null, 2)}\n`
  const merging = new Merging(text)
  merging.object(merging.root, content, 1)
  return merging.result()
}

class Merging {
  readonly root: Span
  readonly #text: string
  /** The text with spaces in the place of comments. */
  readonly #plain: string
  readonly #unit: string
  readonly #newline: string
  readonly #edits: Edit[] = []

  constructor(text: string) {
    this.#text = text
    this.#plain = blankComments(text)
    this.#unit = /\n([ \t]+)"/.exec(this.#plain)?.[1] ?? '  '
    this.#newline = text.includes('\r\n') ? '\r\n' : '\n'
    this.root = this.#read(this.#skip(0))
  }

  object({ members = new Map<string, Span>(), ...span }: Span, content: object, depth: number): void {
    const missing: string[] = []
    for (const [name, value] of Object.entries(content)) {
      const member = members.get(name)
      if (member) this.#value(member, value, depth)
      else missing.push(`${JSON.stringify(name)}: ${this.#json(value, depth)}`)
    }
    this.#append(span, [...members.values()].at(-1), missing, depth)
  }

  result(): string {
    const edits = this.#edits.sort((a, b) => b.at - a.at)
    return edits.reduce((text, { at, end, text: added }) => text.slice(0, at) + added + text.slice(end), this.#text)
  }

  #value(span: Span, value: unknown, depth: number): void {
    if (span.members && isObject(value)) return this.object(span, value, depth + 1)
    if (span.items && Array.isArray(value)) return this.#array(span, value, depth + 1)
    const json = this.#json(value, depth)
    if (JSON.stringify(this.#parsed(span)) !== JSON.stringify(value)) {
      this.#edits.push({ at: span.start, end: span.end, text: json })
    }
  }

  #array({ items = [], ...span }: Span, content: readonly unknown[], depth: number): void {
    const values = items.map((item) => this.#parsed(item))
    const missing: string[] = []
    for (const value of content) {
      const item = items[indexOfSame(values, value)]
      if (item) this.#value(item, value, depth)
      else missing.push(this.#json(value, depth))
    }
    this.#append(span, items.at(-1), missing, depth)
  }

  /** Adds texts after the last member or item, and after what follows that on its line, such as a comment. */
  #append(
    { start, end }: Pick<Span, 'start' | 'end'>,
    last: Span | undefined,
    texts: readonly string[],
    depth: number,
  ): void {
    if (texts.length === 0) return
    const lead = this.#newline + this.#unit.repeat(depth)
    const joined = texts.map((text) => lead + text).join(',')
    if (!last) {
      const close = this.#newline + this.#unit.repeat(depth - 1)
      this.#edits.push({
        at: start + 1,
        end: end - 1,
        text: `${this.#text.slice(start + 1, end - 1).trimEnd()}${joined}${close}`,
      })
      return
    }
    const comma = /^\s*,/.exec(this.#plain.slice(last.end))?.[0] ?? ''
    const after = last.end + comma.length
    const line = /^[^\n]*/.exec(this.#plain.slice(after))?.[0] ?? ''
    const isLast = line.trim() === ''
    const at = isLast ? after + this.#text.slice(after, after + line.length).trimEnd().length : after
    const close = isLast ? '' : this.#newline + this.#unit.repeat(depth - 1)
    const added = `${joined}${comma === '' ? '' : ','}${close}`
    // Between the last value and what is added may be a comment.
    const comment = this.#text.slice(after, at)
    // Spaces before a bracket on the same line give way to the line of that bracket.
    const [spaces = ''] = /^[ \t]+(?=[}\]])/.exec(this.#text.slice(at)) ?? []
    this.#edits.push({
      at: last.end,
      end: at + (isLast ? 0 : spaces.length),
      text: `${comma === '' ? ',' : this.#text.slice(last.end, after)}${comment}${added}`,
    })
  }

  #json(value: unknown, depth: number): string {
    return JSON.stringify(value, null, this.#unit).replaceAll('\n', this.#newline + this.#unit.repeat(depth))
  }

  #parsed({ start, end }: Span): unknown {
    return JSON.parse(this.#plain.slice(start, end).replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, '$1'))
  }

  #skip(at: number): number {
    return at + (/^\s*/.exec(this.#plain.slice(at))?.[0].length ?? 0)
  }

  #read(start: number): Span {
    const open = this.#plain[start]
    if (open !== '{' && open !== '[') {
      const [token = ''] = /^(?:"(?:\\.|[^"\\])*"|[^\s,\]}]+)/.exec(this.#plain.slice(start)) ?? []
      return { start, end: start + token.length }
    }
    const members = new Map<string, Span>()
    const items: Span[] = []
    let at = this.#skip(start + 1)
    while (!/[}\]]/.test(this.#plain[at] ?? '}')) {
      let name: string | undefined
      if (open === '{') {
        const key = this.#read(at)
        name = JSON.parse(this.#plain.slice(key.start, key.end))
        at = this.#skip(this.#skip(key.end) + 1)
      }
      const value = this.#read(at)
      if (name === undefined) items.push(value)
      else members.set(name, value)
      at = this.#skip(value.end)
      if (this.#plain[at] === ',') at = this.#skip(at + 1)
    }
    return { start, end: at + 1, ...(open === '{' ? { members } : { items }) }
  }
}
