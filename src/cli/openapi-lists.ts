import type { ArgumentStyle } from '../definitions/http/style.ts'

/**
 * Returns how lists are written under a key of a query, by the examples in a document's own texts, such as
 * `?expand[]=a&expand[]=b`: OpenAPI does not say it of `deepObject`. Without an example it is in brackets, as most servers
 * read it.
 */
export function listNotation(key: string, texts: readonly string[]): NonNullable<ArgumentStyle['lists']> {
  for (const text of texts) {
    const notation = notationIn(key, text.replaceAll('%5B', '[').replaceAll('%5D', ']'))
    if (notation) return notation
  }
  return 'brackets'
}

/** Whether texts show a parameter as an object in brackets, such as `sort_by[name]=asc`. */
export function showsBrackets(name: string, texts: readonly string[]): boolean {
  const pattern = new RegExp(`(?<![\\w\\]-])${escaped(name)}(?:\\[|%5B)[\\w-]+(?:\\]|%5D)[^\\s=]*=`)
  return texts.some((text) => pattern.test(text))
}

function notationIn(key: string, text: string): ArgumentStyle['lists'] {
  // What precedes it is not part of a longer name.
  const pattern = new RegExp(`(?<![\\w\\]-])${escaped(key)}((?:\\[[^\\][]*\\])*)=([^&\\s"'<>]*)`, 'g')
  const examples = [...text.matchAll(pattern)].map(([, inner = '', value = '']) => ({ inner, value }))
  if (examples.some(({ inner }) => inner.endsWith('[]'))) return 'brackets'
  if (examples.some(({ inner }) => /^\[\d+\]/.test(inner))) return 'indices'
  const own = examples.filter(({ inner }) => inner === '')
  if (own.some(({ value }) => /,|%2C/i.test(value))) return 'commas'
  return own.length > 1 && text.includes(`&${key}=`) ? 'repeated' : undefined
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
