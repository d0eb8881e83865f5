import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Terminal } from '../command/terminal.ts'
import { Failure } from '../failure.ts'
import {
  type ClientConfig,
  type McpEntry,
  nameOfHost,
  readClientConfig,
  secretName,
  urlFault,
} from './client-config.ts'
import { readEdge } from '../project/add.ts'
import { bindService } from '../project/bind.ts'
import { findConfig, parseConfig, readConfigFile } from '../project/config-file.ts'
import { type Files, writeFiles } from '../project/files.ts'
import { privateWorker } from '../project/tool-files.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import { readTextFile } from '../text-file.ts'

const FOLDER = 'tools/mcp'

export interface ImportMcpOptions {
  /** The folder of the project. */
  readonly root: string
  readonly terminal: Terminal
  /** The address of a server, or the path of a client's configuration, relative to the root. */
  readonly from: string
  /** The name of the server at that address. Default: made of its host. */
  readonly name?: string | undefined
  /** Whether the server at that address wants a key as a bearer token. Default: no. */
  readonly key?: boolean | undefined
}

/**
 * Adds MCP servers to the Worker in `tools/mcp`, which is made and bound if there is none, and prints their tools. No
 * value of a header is written: the names of secrets stand for them. Throws a Failure, before anything is written, for
 * a source that cannot be read or has no server that an edge can use.
 */
export async function importMcp({ root, terminal, from, ...options }: ImportMcpOptions): Promise<void> {
  const { servers, skipped } = isAddress(from) ? atAddress(from, options) : inFile(root, from, options)
  for (const { name, reason } of skipped) terminal.print(`Left out ${name}: ${reason}\n`)
  if (servers.length === 0) throw new Failure(`${from} has no server that an edge can use.`)
  const { config: edgeConfig, edge } = readEdge(root)
  const config = findConfig(root, FOLDER)
  const files = config === undefined ? mcpWorkerFiles(`${edge}-mcp`) : {}
  const path = config ?? join(FOLDER, 'wrangler.toml')
  const text = config === undefined ? (files[path] ?? '') : readTextFile(join(root, path))
  const { entries, added } = merged(readEntries(path, text), servers, path)
  const next = writeEntries(path, text, entries)
  const boundService = bindOnce(root, edgeConfig, config === undefined ? `${edge}-mcp` : workerName(root, path))
  if (config === undefined) writeFiles(root, { ...files, [path]: next })
  else writeFileSync(join(root, path), next)
  for (const { name, url } of added) terminal.print(`${path}: ${name} is ${url}\n`)
  for (const { name } of servers.filter((server) => !added.includes(server)))
    terminal.print(`${name} was there already\n`)
  if (boundService) terminal.print(`${edgeConfig}: TOOL_MCP is bound to ${boundService}\n`)
  const secrets = secretsOf(servers)
  for (const secret of secrets) {
    terminal.print(`On your machine, put ${secret}=… into ${FOLDER}/.dev.vars\n`)
    terminal.print(`For a deployed edge: npx wrangler secret put ${secret} -c ${path}\n`)
  }
  const tools = await listServerTools(join(root, dirname(path)), servers)
  if (typeof tools === 'string') terminal.print(`Their tools could not be listed: ${tools}\n`)
  else terminal.print(`${tools.length === 1 ? '1 tool' : `${tools.length} tools`}: ${tools.join(', ')}\n`)
  terminal.emit({ servers: added, skipped, secrets, ...(typeof tools !== 'string' && { tools }) })
}

function isAddress(from: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(from)
}

function atAddress(url: string, { name, key }: Pick<ImportMcpOptions, 'name' | 'key'>): ClientConfig {
  const fault = urlFault(url)
  if (fault !== undefined) throw new Failure(fault)
  const server = name ?? nameOfHost(url)
  if (!/^[a-zA-Z0-9_-]{1,32}$/.test(server))
    throw new Failure(`"${server}" cannot be the name of a server.`, 'Use letters, digits, "_" and "-": at most 32.')
  const headers = { Authorization: `Bearer {${secretName(server)}}` }
  return { servers: [{ name: server, url, ...(key && { headers }) }], skipped: [] }
}

function inFile(root: string, from: string, { name, key }: Pick<ImportMcpOptions, 'name' | 'key'>): ClientConfig {
  if (name !== undefined || key) throw new Failure('--name and --key are for an address: the file has its own names.')
  const path = resolve(root, from)
  if (!existsSync(path))
    throw new Failure(`There is no ${from}.`, 'Name an https address, or the configuration of an MCP client.')
  return readClientConfig(readTextFile(path), from)
}

/** Returns all servers with the new ones at the end. Throws a Failure for a name that is another server's. */
function merged(
  entries: readonly McpEntry[],
  servers: readonly McpEntry[],
  path: string,
): { readonly entries: readonly McpEntry[]; readonly added: readonly McpEntry[] } {
  const added = servers.filter((server) => {
    const other = entries.find(({ name }) => name === server.name)
    if (!other || isDeepStrictEqual(other.url, server.url)) return !other
    throw new Failure(
      `${path} has a server "${server.name}" already, at ${other.url}.`,
      'Remove that one, or import this one with --name.',
    )
  })
  return { entries: [...entries, ...added], added }
}

/** Binds the Worker to the edge as TOOL_MCP, unless something is. Returns its name if it was bound. */
function bindOnce(root: string, edgeConfig: string, service: string): string | undefined {
  const { services = [] } = readConfigFile(root, edgeConfig)
  const list: readonly unknown[] = Array.isArray(services) ? services : []
  if (list.some((each) => Object(each)['binding'] === 'TOOL_MCP' || Object(each)['service'] === service))
    return undefined
  bindService(root, edgeConfig, { binding: 'TOOL_MCP', service })
  return service
}

function workerName(root: string, path: string): string {
  const { name } = readConfigFile(root, path)
  if (typeof name === 'string') return name
  throw new Failure(`${path} has no \`name\`.`)
}

function secretsOf(servers: readonly McpEntry[]): string[] {
  const names = servers.flatMap(({ headers = {} }) =>
    Object.values(headers).flatMap((value) => value.match(/SECRET_\w+/g) ?? []),
  )
  return [...new Set(names)]
}

/**
 * Returns the names of the tools of these servers as models would see them, or the reason why they cannot be listed. The
 * Worker itself asks the servers, on workerd, with the secrets in the `.dev.vars` beside its configuration.
 */
export async function listServerTools(
  folder: string,
  servers: readonly McpEntry[],
): Promise<readonly string[] | string> {
  const { startTool } = await import('../../testing/running-tool.ts')
  try {
    const worker = await startTool(folder, { vars: { MCP_SERVERS: JSON.stringify(servers) } })
    const names = worker.definitions.map(({ name }) => name)
    await worker.close()
    return names
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The files of the Worker that offers the tools of MCP servers. */
export function mcpWorkerFiles(service: string): Files {
  const config = privateWorker(
    service,
    'Offers the tools of other MCP servers. It needs no change but the servers below.',
  )
  return {
    'tools/mcp/index.ts': `export { default, McpConnection } from 'edgecall/mcp'\n`,
    'tools/mcp/wrangler.toml': `${config.replace('# Private', 'compatibility_flags = ["global_fetch_strictly_public"]\n# Private')}
[vars]
# Secrets are named, as in "Bearer {SECRET_GITHUB}", never written here: \`npx wrangler secret put SECRET_GITHUB -c
# tools/mcp/wrangler.toml\`; on your machine, in a file \`.dev.vars\` beside this one. By adding a server you trust the
# descriptions of its tools.
MCP_SERVERS = "[]"
# Where authorization servers send people back to after they have signed in: /connections/callback of the edge.
# MCP_CALLBACK_URL = "https://${service.replace(/-mcp$/, '')}.example.workers.dev/connections/callback"

# The tokens of servers with "oauth", one object for each server and owner.
[[durable_objects.bindings]]
name = "CONNECTIONS"
class_name = "McpConnection"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["McpConnection"]
`,
  }
}

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
  // What a literal text of TOML cannot hold is written as JSON escapes it.
  const list = lines.join(',\n').replace(/'''|\u007f/g, (each) => (each === "'''" ? '\\u0027'.repeat(3) : '\\u007f'))
  const value = lines.length === 0 ? '"[]"' : `'''[\n${list}\n]'''`
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
