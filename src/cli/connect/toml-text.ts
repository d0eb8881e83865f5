import { parse, stringify } from 'smol-toml'
import { isObject } from '../../contract/json.ts'
import { type TomlTable, tomlTables, tomlTitle } from '../../contract/toml-tables.ts'

/** Returns the text of a TOML file with the members in it. All other text stays as it is. */
export function mergeTomlText(text: string, content: Readonly<Record<string, unknown>>): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  let lines = text.trim() === '' ? [] : text.trimEnd().split(/\r?\n/)
  for (const { path, entries } of tomlTables(content)) lines = withTable(lines, path, entries)
  return `${lines.join(newline)}${newline}`
}

/** A line with one value that ends on it, and perhaps a comment. */
const ENTRY = /^(\s*[^=#]+=\s*)("(?:\\.|[^"\\])*"|'[^']*'|[\w.+-]+)(\s*(?:#.*)?)$/

function withTable(lines: readonly string[], path: readonly string[], entries: TomlTable['entries']): string[] {
  const wanted = JSON.stringify(path)
  const header = path.length === 0 ? -1 : lines.findIndex((line) => JSON.stringify(headerOf(line)) === wanted)
  const written = Object.entries(entries).map(([name, value]) => [name, stringify({ [name]: value }).trim()] as const)
  if (header < 0 && path.length > 0) {
    return [...lines, ...(lines.length > 0 ? [''] : []), tomlTitle(path), ...written.map(([, line]) => line)]
  }
  const next = lines.findIndex((line, at) => at > header && /^\s*\[/.test(line) && headerOf(line) !== undefined)
  const table = lines.slice(header + 1, next < 0 ? lines.length : next)
  const rest = next < 0 ? [] : lines.slice(next)
  const added: string[] = []
  for (const [name, line] of written) {
    const at = table.findIndex((each) => nameOf(each) === name)
    const [, start = '', , end = ''] = ENTRY.exec(table[at] ?? '') ?? []
    if (at >= 0) table[at] = `${start}${line.slice(line.indexOf('=') + 1).trim()}${end}`
    else added.push(line)
  }
  const last = table.findLastIndex((line) => line.trim() !== '') + 1
  const gap = header < 0 && last === 0 && rest.length > 0 && added.length > 0 ? [''] : []
  return [...lines.slice(0, header + 1), ...table.slice(0, last), ...added, ...gap, ...table.slice(last), ...rest]
}

/** The path of the table that a line opens; `[]` for an array of tables; undefined for another line. */
function headerOf(line: string): readonly string[] | undefined {
  if (!/^\s*\[/.test(line)) return undefined
  try {
    const path: string[] = []
    let value: unknown = parse(line)
    while (isObject(value)) {
      const [[name, inner] = []] = Object.entries(value)
      if (name === undefined) return path
      path.push(name)
      value = inner
    }
    return []
  } catch {
    return undefined
  }
}

/** The name that a line gives a value to, if the value ends on the line. */
function nameOf(line: string): string | undefined {
  if (!ENTRY.test(line)) return undefined
  try {
    return Object.keys(parse(line))[0]
  } catch {
    return undefined
  }
}
