import { isExact } from '../contract/exact-numbers.ts'

/**
 * Parses a text that is almost JSON, as models write it: in a code fence, after some prose, with a comma after the last
 * item, with single quotes, with keys without quotes, or with Python's `True`, `False` and `None`. Returns undefined
 * for any other text. A text is only accepted if there is one way to read it: objects and arrays must be closed, with
 * nothing behind them, so that a text that was cut off is never mended, and a quote must end where a value can end.
 * Numbers are parsed as by `parseExactly`. Nesting is bounded by `MOST_LEVELS`.
 */
export function mendJson(text: string): unknown {
  const body = undressed(text)
  if (body === undefined) return undefined
  try {
    const reader = new Reader(body)
    const value = reader.value(0)
    reader.space()
    return reader.isAtEnd() ? value : undefined
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

class Unreadable extends Error {}

const MOST_LEVELS = 100

/** Returns the text inside a code fence, or after prose that has no bracket, quote or fence. */
function undressed(text: string): string | undefined {
  const fenced =
    /^[^{}[\]"`]*```[ \t]*(?:json[c5]?|javascript|js|python|py|tool_code)?[ \t]*\r?\n([^]*?)\r?\n?[ \t]*```\s*$/i.exec(
      text,
    )
  if (fenced) return fenced[1]?.includes('```') ? undefined : fenced[1]
  const start = text.search(/[{["`]/)
  return start === -1 || text[start] === '"' || text[start] === '`' ? undefined : text.slice(start)
}

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...([
    ['true', true],
    ['True', true],
    ['false', false],
    ['False', false],
  ] as const),
  ...([
    ['null', null],
    ['None', null],
  ] as const),
])

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
  ...{ '"': '"', "'": "'", '/': '/', '\\': '\\' },
}

/** Matches what may follow a string: then the quote before it is the end of the string. */
const AFTER_TEXT = /\s*(?:[,:}\]]|$)/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const NAME = /[A-Za-z_$][\w$]*/y

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    return this.#at === this.#text.length
  }

  space(): void {
    this.#match(/\s*/y)
  }

  value(level: number): unknown {
    this.space()
    if (level > MOST_LEVELS) throw new Unreadable()
    if (this.#take('{')) return this.#object(level + 1)
    if (this.#take('[')) return this.#array(level + 1)
    if (/["']/.test(this.#next())) return this.#string()
    const digits = this.#match(NUMBER)
    if (digits !== undefined) return this.#number(digits)
    const word = this.#match(NAME)
    if (word === undefined || !WORDS.has(word)) throw new Unreadable()
    return WORDS.get(word)
  }

  #object(level: number): unknown {
    const entries = new Map<string, unknown>()
    for (;;) {
      this.space()
      if (this.#take('}')) return Object.fromEntries(entries)
      const key = /["']/.test(this.#next()) ? this.#string() : this.#match(NAME)
      this.space()
      // With the same key twice, it is unclear which value was meant.
      if (key === undefined || entries.has(key) || !this.#take(':')) throw new Unreadable()
      entries.set(key, this.value(level))
      this.space()
      if (!this.#take(',') && this.#next() !== '}') throw new Unreadable()
    }
  }

  #array(level: number): unknown {
    const items: unknown[] = []
    for (;;) {
      this.space()
      if (this.#take(']')) return items
      items.push(this.value(level))
      this.space()
      if (!this.#take(',') && this.#next() !== ']') throw new Unreadable()
    }
  }

  #number(digits: string): unknown {
    // With a letter directly behind it, as in `1e` or `12px`, it is not a number.
    if (/[\w.+-]/.test(this.#next())) throw new Unreadable()
    const number = Number(digits)
    return isExact(number, digits) ? number : digits
  }

  #string(): string {
    const quote = this.#next()
    this.#at += 1
    let read = ''
    for (;;) {
      const char = this.#next()
      this.#at += 1
      if (char === '') throw new Unreadable()
      if (char === quote) {
        AFTER_TEXT.lastIndex = this.#at
        if (!AFTER_TEXT.test(this.#text)) throw new Unreadable()
        return read
      }
      read += char === '\\' ? this.#escape() : char
    }
  }

  #escape(): string {
    const char = this.#next()
    this.#at += 1
    if (char !== 'u' && char !== 'x') {
      const character = ESCAPES[char]
      if (character === undefined) throw new Unreadable()
      return character
    }
    const hex = this.#match(char === 'u' ? /[\da-fA-F]{4}/y : /[\da-fA-F]{2}/y)
    if (hex === undefined) throw new Unreadable()
    return String.fromCharCode(Number.parseInt(hex, 16))
  }

  #next(): string {
    return this.#text[this.#at] ?? ''
  }

  #take(char: string): boolean {
    const isNext = this.#next() === char
    if (isNext) this.#at += 1
    return isNext
  }

  /** Reads what a sticky pattern matches here. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const [match] = pattern.exec(this.#text) ?? []
    this.#at += match?.length ?? 0
    return match
  }
}
