import { isObject } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { parseJsonc } from '../project/jsonc.ts'

/** A server as `MCP_SERVERS` of the MCP Worker names it. */
export interface McpEntry {
  readonly name: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The servers of a configuration, and those that an edge cannot use, with the reason. */
export interface ClientConfig {
  readonly servers: readonly McpEntry[]
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
}

/**
 * Reads the configuration of an MCP client: `mcpServers` of Claude Desktop and Cursor, `servers` of VS Code. Values of
 * headers, which may be keys, are replaced by the names of secrets. Throws a Failure for a text that is no such
 * configuration; `file` names it in the message.
 */
export function readClientConfig(text: string, file: string): ClientConfig {
  const entries = Object.entries(serversIn(text, file))
  const servers: McpEntry[] = []
  const skipped: { name: string; reason: string }[] = []
  for (const [givenName, value] of entries) {
    const name = entryName(givenName)
    const fields = isObject(value) ? value : {}
    const remote = remoteOf(fields)
    const reason = typeof remote === 'string' ? remote : urlFault(remote.url)
    if (reason !== undefined || typeof remote === 'string') skipped.push({ name: givenName, reason: String(reason) })
    else servers.push(withSecrets({ name, ...remote }))
  }
  const names = servers.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Failure(`${file} has two servers that would be called "${twice}".`, 'Rename one.')
  return { servers, skipped }
}

function serversIn(text: string, file: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseJsonc(text)
  } catch (error) {
    throw new Failure(`${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  const { mcpServers, servers, mcp } = isObject(value) ? value : {}
  // VS Code's settings.json has them in `mcp`.
  const table = [mcpServers, servers, isObject(mcp) ? mcp['servers'] : undefined].find(isObject)
  if (table) return table
  throw new Failure(
    `${file} names no MCP servers.`,
    'They are in "mcpServers" (Claude Desktop, Cursor) or in "servers" (mcp.json of VS Code).',
  )
}

type Remote = Pick<McpEntry, 'url'> & { readonly headers: Record<string, string> }

/** Returns the address of a server and the headers sent to it, or why an edge cannot reach it. */
function remoteOf({ url, serverUrl, type, headers, command, args }: Record<string, unknown>): Remote | string {
  const address = url ?? serverUrl
  if (typeof address === 'string') {
    if (type === 'sse') return 'It speaks HTTP+SSE, which MCP replaced; ask for its address for Streamable HTTP.'
    return { url: address, headers: textsOf(headers) }
  }
  if (typeof command !== 'string') return 'It has neither a `url` nor a `command`.'
  return bridgedBy(args) ?? `It is a program on your machine (${command}), which no Worker can start.`
}

/** Returns the server behind `npx mcp-remote <url> --header "Name: value"`, which gives clients access to a remote one. */
function bridgedBy(args: unknown): Remote | undefined {
  const words = Array.isArray(args) ? args.map(String) : []
  const at = words.findIndex((word) => /^mcp-remote(?:@|$)/.test(word))
  const url = at < 0 ? undefined : words.slice(at + 1).find((word) => /^https?:/.test(word))
  if (url === undefined) return undefined
  const headerWords = words.flatMap((word, index) => (words[index - 1] === '--header' ? [word] : []))
  const headers = headerWords.map((header) => [
    header.split(':', 1)[0] ?? '',
    header.slice(header.indexOf(':') + 1).trim(),
  ])
  return { url, headers: Object.fromEntries(headers) }
}

function textsOf(value: unknown): Record<string, string> {
  const entries = Object.entries(isObject(value) ? value : {})
  return Object.fromEntries(entries.map(([name, text]) => [name, String(text)]))
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/** Returns why the MCP Worker would refuse an address, or undefined. A key in the address would be readable by anyone. */
export function urlFault(text: string): string | undefined {
  if (!URL.canParse(text)) return `"${text}" is not an address.`
  const url = new URL(text)
  const secret = [...url.searchParams.keys()].find((name) => /key|token|secret|auth/i.test(name))
  if (url.username !== '' || url.password !== '' || secret !== undefined)
    return `Its address holds a key (${secret ?? 'a user name'}): send it in a header instead.`
  if (url.protocol === 'https:' && url.port === '') return undefined
  return LOOPBACK.test(url.hostname) ? undefined : `${url.origin} is not an https address on the standard port.`
}

/** Headers that say nothing secret. */
const PLAIN_HEADERS = /^(?:accept|content-type|user-agent)$/i

/** Puts the name of a secret in the place of each value that may be one. */
function withSecrets({ name, url, headers }: McpEntry & Remote): McpEntry {
  const entries = Object.entries(headers)
  if (entries.length === 0) return { name, url }
  const secrets = entries.filter(([header]) => !PLAIN_HEADERS.test(header))
  const replaced = entries.map(([header, value]) => {
    if (PLAIN_HEADERS.test(header)) return [header, value]
    const [, scheme = ''] = /^(Bearer |Basic |Token )/i.exec(value) ?? []
    return [header, `${scheme}{${secretName(name, secrets.length > 1 ? header : '')}}`]
  })
  return { name, url, headers: Object.fromEntries(replaced) }
}

/** Returns the name of a secret of a server, such as `SECRET_GITHUB`. */
export function secretName(server: string, header = ''): string {
  const words = [server, header].filter((word) => word !== '').join('_')
  return `SECRET_${words.replaceAll(/[^A-Za-z0-9]+/g, '_').toUpperCase()}`
}

/** Returns the name of a server as `MCP_SERVERS` allows it. */
function entryName(name: string): string {
  return (
    name
      .replaceAll(/[^a-zA-Z0-9_-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 32) || 'server'
  )
}

/** Returns a name for the server at an address: `mcp.example.com` is `example`. */
export function nameOfHost(url: string): string {
  const labels = new URL(url).hostname.split('.').filter((label) => !/^(?:mcp|api|www)$/.test(label))
  return entryName(labels[0] ?? 'server')
}
