import { isDeepStrictEqual } from 'node:util'
import { isObject, parseJson } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { parseConfig } from '../project/config-file.ts'
import type { McpEntry } from './client-config.ts'

/** Returns the servers that a configuration of the MCP Worker names. Throws a Failure for a value that is not a list. */
export function readEntries(path: string, text: string): readonly McpEntry[] {
  const value = serversValue(parseConfig(path, text))
  const entries = typeof value === 'string' ? parseJson(value || '[]') : (value ?? [])
  if (Array.isArray(entries)) return entries
  throw new Failure(`MCP_SERVERS in ${path} is not a list in JSON.`, 'Correct it, or set it to "[]".')
}

/**
 * Returns the text of a configuration with other servers in `MCP_SERVERS`. All other text stays as it is. Throws a
 * Failure if the file is laid out in a way that cannot be changed.
 */
export function writeEntries(path: string, text: string, entries: readonly McpEntry[]): string {
  const isToml = path.endsWith('.toml')
  const next = isToml ? inToml(text, entries) : inJsonc(text, entries)
  const before = parseConfig(path, text)
  const expected = { ...before, vars: { ...Object(before['vars']), MCP_SERVERS: entries } }
  const after = next === undefined ? {} : parseConfig(path, next)
  const written = { ...after, vars: { ...Object(after['vars']), MCP_SERVERS: parsedEntries(after) } }
  if (next !== undefined && isDeepStrictEqual(plain(written), plain(expected))) return next
  throw new Failure(`MCP_SERVERS could not be written into ${path}.`, `Write it yourself: ${JSON.stringify(entries)}`)
}

function parsedEntries(config: Readonly<Record<string, unknown>>): unknown {
  const value = serversValue(config)
  return typeof value === 'string' ? parseJson(value) : value
}

function serversValue({ vars }: Readonly<Record<string, unknown>>): unknown {
  return isObject(vars) ? vars['MCP_SERVERS'] : undefined
}

/** Makes plain objects of what the TOML parser returns, for comparing. */
function plain(value: unknown): unknown {
  return structuredClone(value)
}

/** A value of TOML: a text in one of its four forms. */
const TOML_VALUE = /^(MCP_SERVERS[ \t]*=[ \t]*)(?:'''[^]*?'''|"""[^]*?"""|'[^'\n]*'|"(?:\\.|[^"\\\n])*")/m

function inToml(text: string, entries: readonly McpEntry[]): string | undefined {
  const lines = entries.map((entry) => `  ${JSON.stringify(entry)}`)
  const value = lines.length === 0 ? '"[]"' : `'''[\n${lines.join(',\n')}\n]'''`
  if (TOML_VALUE.test(text)) return text.replace(TOML_VALUE, (_, key: string) => `${key}${value}`)
  // Variables belong to the table above them.
  return /^\[vars\][^\n]*\n/m.test(text)
    ? text.replace(/^\[vars\][^\n]*\n/m, (header) => `${header}MCP_SERVERS = ${value}\n`)
    : `${text.trimEnd()}\n\n[vars]\nMCP_SERVERS = ${value}\n`
}

function inJsonc(text: string, entries: readonly McpEntry[]): string | undefined {
  const pattern = /("MCP_SERVERS"\s*:\s*)"(?:\\.|[^"\\])*"/
  if (!pattern.test(text)) return undefined
  return text.replace(pattern, (_, key: string) => `${key}${JSON.stringify(JSON.stringify(entries))}`)
}
