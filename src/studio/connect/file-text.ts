import type { FileSetting } from '../../contract/applications.ts'
import { isObject } from '../../contract/json.ts'

/** Returns the text of a file that holds a setting alone, in the format of its extension. */
export function textOfFile({ path, content }: FileSetting): string {
  if (path.endsWith('.toml')) return `${tablesOf(content, []).join('\n\n')}\n`
  if (path.endsWith('.yaml')) return `${yamlOf(content, '').trimStart()}\n`
  return `${JSON.stringify(content, null, 2)}\n`
}

/** The tables of an object in TOML, the outermost first. */
function tablesOf(content: FileSetting['content'], path: readonly string[]): string[] {
  const entries = Object.entries(content)
  const lines = entries.flatMap(([name, value]) => (isObject(value) ? [] : [`${name} = ${JSON.stringify(value)}`]))
  const head = path.length > 0 ? [`[${path.join('.')}]`] : []
  return [
    ...(lines.length > 0 ? [[...head, ...lines].join('\n')] : []),
    ...entries.flatMap(([name, value]) => (isObject(value) ? tablesOf(value, [...path, name]) : [])),
  ]
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
