import { content, ToolError } from 'edgecall/tool'
import { fieldsOf, textOf } from './json.ts'
import type { AskServer, RemoteTool } from './list.ts'
import { isLike } from './names.ts'
import { readResult } from './result.ts'
import type { McpServer } from './servers.ts'

const MOST_PAGES = 10
const MOST_ENTRIES = 500

/** Makes the tools by which a model lists and reads the resources that a server's configuration selects. */
export function resourceTools(server: McpServer): readonly RemoteTool[] {
  const { name, resources } = server
  if (resources.length === 0) return []
  const hints = { readOnlyHint: true, idempotentHint: true }
  const common = { hints, headers: [] }
  return [
    {
      ...common,
      name: 'list_resources',
      title: `List the resources of ${name}`,
      description: `Lists what can be read of the server "${name}" by read_resource: the URIs, names and types of its resources, and templates of URIs. Use it before read_resource if you do not know the URI.`,
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      relays: 'resources/list',
      perform: (_input, ask) => listResources(resources, ask),
    },
    {
      ...common,
      name: 'read_resource',
      title: `Read a resource of ${name}`,
      description: `Reads a resource of the server "${name}". Use it with a URI that list_resources or another tool has shown, or that follows one of the templates.`,
      inputSchema: {
        type: 'object',
        properties: { uri: { type: 'string', description: 'The URI of the resource.' } },
        required: ['uri'],
        additionalProperties: false,
      },
      relays: 'resources/read',
      perform: (input, ask) => readResource(resources, textOf(fieldsOf(input)['uri']), ask),
    },
  ]
}

async function listResources(patterns: readonly string[], ask: AskServer): Promise<object> {
  const resources = await listAll('resources/list', 'resources', ask)
  const templates = await listAll('resources/templates/list', 'resourceTemplates', ask)
  return {
    resources: resources.flatMap((each) => entryOf(each, 'uri', (uri) => isOnOffer(uri, patterns))),
    templates: templates.flatMap((each) => entryOf(each, 'uriTemplate', (template) => mayFit(template, patterns))),
  }
}

/** Returns the entries of all pages of a list, at most 500. */
export async function listAll(method: string, member: string, ask: AskServer): Promise<readonly unknown[]> {
  const entries: unknown[] = []
  let cursor: unknown
  for (let pages = 0; pages < MOST_PAGES && entries.length < MOST_ENTRIES; pages++) {
    const page = await ask(method, cursor === undefined ? {} : { cursor })
    const items = page[member]
    if (Array.isArray(items)) entries.push(...items)
    cursor = page['nextCursor']
    if (typeof cursor !== 'string') break
  }
  return entries.slice(0, MOST_ENTRIES)
}

function entryOf(entry: unknown, member: 'uri' | 'uriTemplate', isWanted: (uri: string) => boolean): object[] {
  const fields = fieldsOf(entry)
  const address = textOf(fields[member])
  if (address === '' || !isWanted(address)) return []
  const others = ['name', 'title', 'description', 'mimeType'].map((key) => [key, textOf(fields[key])] as const)
  return [{ [member]: address, ...Object.fromEntries(others.filter(([, text]) => text !== '')) }]
}

async function readResource(patterns: readonly string[], uri: string, ask: AskServer): Promise<unknown> {
  if (!isOnOffer(uri, patterns)) {
    const message = `The resource "${uri}" is not on offer. Call list_resources to see those that are.`
    throw new ToolError(message, { code: 'resource_not_allowed' })
  }
  const { contents, ...result } = await ask('resources/read', { uri })
  const items = Array.isArray(contents) ? contents : []
  const read = { ...result, content: items.map((resource: unknown) => ({ type: 'resource', resource })) }
  if (items.length === 0) return content('The resource is empty.')
  // Beside the parts that models read, what the edge needs to make a resource for MCP clients of each.
  return readResult({ ...read, _meta: { ...fieldsOf(result['_meta']), contents: items.map(outlineOf) } })
}

/** Returns what a part of a resource loses as a part of a result: its address, its type and its length. */
function outlineOf(item: unknown): object {
  const { uri, mimeType, text, blob } = fieldsOf(item)
  return { uri: textOf(uri), ...(textOf(mimeType) && { mimeType }), length: textOf(text ?? blob).length }
}

/** Whether a URI matches a pattern. One that climbs by `..` may name something else than it seems to, so none does. */
function isOnOffer(uri: string, patterns: readonly string[]): boolean {
  const climbs = /(?:^|[/\\])\.\.(?:[/\\?#]|$)/.test(uri.replace(/%2e/gi, '.').replace(/%(?:2f|5c)/gi, '/'))
  return !climbs && patterns.some((pattern) => isLike(uri, pattern))
}

/** Whether a template of URIs may yield one that matches a pattern: as far as both are fixed, they are the same. */
function mayFit(template: string, patterns: readonly string[]): boolean {
  const [start = ''] = template.split('{', 1)
  return patterns.some((pattern) => {
    const [fixed = ''] = pattern.split('*', 1)
    return start.startsWith(fixed) || fixed.startsWith(start)
  })
}
