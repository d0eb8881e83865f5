import type { FileSetting } from '../../contract/applications.ts'
import { isObject } from '../../contract/json.ts'
import { type TomlTable, tomlTables, tomlTitle } from '../../contract/toml-tables.ts'

/** Returns the text of a file that holds a setting alone, in the format of its extension. */
export function textOfFile({ path, content }: FileSetting): string {
  if (path.endsWith('.toml')) return `${tomlTables(content).map(tomlText).join('\n\n')}\n`
  if (path.endsWith('.yaml')) return `${yamlOf(content, '').trimStart()}\n`
  return `${JSON.stringify(content, null, 2)}\n`
}

function tomlText({ path, entries }: TomlTable): string {
  const lines = Object.entries(entries).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
  return [...(path.length > 0 ? [tomlTitle(path)] : []), ...lines].join('\n')
}

/** A value in YAML, as it stands after the colon of its name. */
function yamlOf(value: unknown, indent: string): string {
  const line = `\n${indent}`
  if (Array.isArray(value)) return value.map((item) => `${line}- ${yamlOf(item, `${indent}  `).trimStart()}`).join('')
  if (isObject(value)) {
    return Object.entries(value)
      .map(([name, member]) => `${line}${name}:${yamlOf(member, `${indent}  `)}`)
      .join('')
  }
  const isPlain = typeof value === 'string' && /^[a-z$][^\n]*$/i.test(value) && !/: | #|:$/.test(value)
  return ` ${isPlain ? value : JSON.stringify(value)}`
}
