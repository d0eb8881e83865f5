import type { Tool, ToolOutcome } from '../../../contract/tool.ts'
import { fieldsOf, objectsOf, textAt } from '../../fields.ts'
import { CLIENT_CAPABILITIES, type McpMessage } from './message.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the address under which an edge gives out an address of a server, or a template of addresses: the server's name
 * is put before what follows the scheme, as in `ui://github/issue.html` for `ui://issue.html`. Undefined for a text that
 * begins with no scheme.
 */
function addressHere(server: string, address: string): string | undefined {
  const [, scheme, rest] = /^([a-z][a-z\d+.-]*:(?:\/\/)?)(.*)$/is.exec(address) ?? []
  return scheme === undefined ? undefined : `${scheme}${server}/${rest}`
}

/** Returns the server and its own address that an address stands for; undefined if it stands for none. */
export function addressThere(address: string): { readonly server: string; readonly uri: string } | undefined {
  const [, scheme, server, rest] = /^([a-z][a-z\d+.-]*:(?:\/\/)?)([\w-]+)\/(.*)$/is.exec(address) ?? []
  return server === undefined ? undefined : { server, uri: `${scheme}${rest}` }
}

/** Returns the name under which an edge gives out a prompt of a server. */
function promptNameHere(server: string, name: string): string {
  return `${server}.${name}`
}

/** Returns the server and the prompt that a name stands for. Names of servers have no dots. */
export function promptNameThere(name: string): { readonly server: string; readonly prompt: string } {
  const [server = '', ...rest] = name.split('.')
  return { server, prompt: rest.join('.') }
}

/**
 * Converts entries of a list of resources (`uri`) or of templates (`uriTemplate`) of a server. Pages of apps are left out:
 * the tools that they belong to name them.
 */
export function toMcpResources(server: string, entries: unknown, member: 'uri' | 'uriTemplate'): readonly object[] {
  return objectsOf(entries).flatMap((entry) => {
    const address = isPage(textAt(entry, member)) ? undefined : addressHere(server, textAt(entry, member))
    return address === undefined ? [] : [{ ...entry, [member]: address }]
  })
}

/** Whether an address is that of a page of an app, which only callers of its tool may read. */
export function isPage(address: string): boolean {
  return /^ui:/i.test(address)
}

/** Converts prompts of a server. */
export function toMcpPrompts(server: string, entries: unknown): readonly object[] {
  return objectsOf(entries).map((entry) => ({ ...entry, name: promptNameHere(server, textAt(entry, 'name')) }))
}

/** Converts a prompt of a server: the resources in its messages get the addresses that they have here. */
export function toMcpPrompt(server: string, prompt: Fields): object {
  const messages = objectsOf(prompt['messages']).map((message) => {
    const content = fieldsOf(message['content'])
    if (content['type'] === 'resource_link') return { ...message, content: withAddressHere(server, content) }
    if (content['type'] !== 'resource') return message
    return { ...message, content: { ...content, resource: withAddressHere(server, fieldsOf(content['resource'])) } }
  })
  return { ...prompt, messages }
}

/** Converts the contents of a resource of a server. */
export function toMcpContents(server: string, contents: unknown): { readonly contents: readonly object[] } {
  return { contents: objectsOf(contents).map((each) => withAddressHere(server, each)) }
}

function withAddressHere(server: string, entry: Fields): object {
  return { ...entry, uri: addressHere(server, textAt(entry, 'uri')) }
}

/**
 * Puts the contents of a resource together again from the outcome of the tool that read it: the parts of its result, and
 * what its metadata says of each. Undefined if a part is not whole.
 */
export function contentsOf(outcome: Extract<ToolOutcome, { ok: true }>): readonly object[] | undefined {
  const { content, metadata } = outcome
  const outlines = metadata?.['contents']
  if (!Array.isArray(outlines)) return undefined
  const contents = objectsOf(outlines).flatMap(({ length, ...outline }, index) => {
    const part = content[index]
    const data = part?.type === 'text' ? part.text : part?.data
    if (data?.length !== length) return []
    return [{ ...outline, ...(part?.type === 'text' ? { text: data } : { blob: data }) }]
  })
  return contents.length === outlines.length ? contents : undefined
}

/** MCP Apps, the extension by which a tool has a page that clients show with its results. */
export const UI = 'io.modelcontextprotocol/ui'

/** What a tool says of apps: the address of its page here, and who may call it. Default: both models and apps. */
export interface ToolUi {
  readonly resourceUri?: string
  readonly visibility?: unknown
}

/** Returns the server of a tool that `tools/mcp` brings in; undefined for any other tool, whatever its metadata says. */
export function serverOf({ origin, definition }: Tool): string | undefined {
  return origin === 'mcp' ? textAt(definition.metadata, 'server') || undefined : undefined
}

/** Returns what a tool of a server says of apps, with the address that its page has here. */
export function uiOf(tool: Tool): ToolUi | undefined {
  const server = serverOf(tool)
  const ui = tool.definition.metadata?.['ui']
  if (server === undefined || ui === undefined) return undefined
  const resourceUri = addressHere(server, textAt(ui, 'resourceUri'))
  const { visibility } = fieldsOf(ui)
  return { resourceUri, visibility }
}

/**
 * Whether a client keeps tools that are for apps alone from its model: one that has declared the extension. In older
 * revisions a request does not say that, and servers list such tools to every client.
 */
export function knowsApps({ modern, meta }: McpMessage): boolean {
  return !modern || UI in fieldsOf(fieldsOf(meta[CLIENT_CAPABILITIES])['extensions'])
}
