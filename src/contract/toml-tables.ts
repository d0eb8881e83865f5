import { isObject } from './json.ts'

/** A table of TOML with the members that are no tables themselves. The path of the root is empty. */
export interface TomlTable {
  readonly path: readonly string[]
  readonly entries: Readonly<Record<string, unknown>>
}

/** Returns the tables of an object that have members of their own, the outermost first. */
export function tomlTables(value: Readonly<Record<string, unknown>>, path: readonly string[] = []): TomlTable[] {
  const inner = Object.entries(value).flatMap(([name, member]) => (isObject(member) ? [{ name, member }] : []))
  const entries = Object.fromEntries(Object.entries(value).filter(([, member]) => !isObject(member)))
  const own = Object.keys(entries).length > 0 ? [{ path, entries }] : []
  return [...own, ...inner.flatMap(({ name, member }) => tomlTables(member, [...path, name]))]
}

/** Returns the line with which a table begins. */
export function tomlTitle(path: readonly string[]): string {
  return `[${path.map((name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))).join('.')}]`
}
