import { content, ToolError } from 'edgecall/tool'
import { askFor } from './elicit.ts'
import { fieldsOf, textOf } from './json.ts'
import { type AskServer, type Relay, type RemoteTool, visible } from './list.ts'
import { isLike } from './names.ts'
import { listAll } from './resources.ts'
import type { McpServer } from './servers.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Makes the tools by which the edge asks a server for what its MCP clients get beside tools: the prompts that its
 * configuration selects, and the pages of the apps that these tools of it name. Neither models nor apps can call them.
 * They are tools, so that all controls of tools hold for what is asked by them.
 */
export function relayTools(server: McpServer, tools: readonly RemoteTool[]): readonly RemoteTool[] {
  const { name, prompts } = server
  const pages = new Set(tools.flatMap(({ ui }) => ui?.resourceUri ?? []))
  const pageTool = relayTool('ui/read', {
    name: 'read_ui',
    description: `Reads the page of an app of the server "${name}" for MCP clients.`,
    properties: { uri: TEXT },
    required: ['uri'],
    perform: ({ uri }, ask) => readPage(pages, textOf(uri), ask),
  })
  const promptTools = [
    relayTool('prompts/list', {
      name: 'list_prompts',
      description: `Lists the prompts of the server "${name}" for MCP clients.`,
      perform: (_input, ask) => listPrompts(prompts, ask),
    }),
    relayTool('prompts/get', {
      name: 'get_prompt',
      description: `Gets a prompt of the server "${name}" for MCP clients.`,
      properties: { name: TEXT, arguments: { type: 'object' } },
      required: ['name'],
      perform: (input, ask) => getPrompt(prompts, input, ask),
    }),
  ]
  return [...(pages.size > 0 ? [pageTool] : []), ...(prompts.length > 0 ? promptTools : [])]
}

const TEXT = { type: 'string' }

interface RelayTool {
  readonly name: string
  readonly description: string
  readonly properties?: Fields
  readonly required?: readonly string[]
  /** Returns the result for the client. */
  readonly perform: (input: Fields, ask: AskServer) => Promise<object>
}

function relayTool(relays: Relay, { properties = {}, required = [], perform, ...texts }: RelayTool): RemoteTool {
  return {
    ...texts,
    title: texts.name,
    relays,
    ui: { visibility: [] },
    hints: { readOnlyHint: true, idempotentHint: true },
    headers: [],
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
    // As text alone, which tells the edge that a result was cut: the rest cannot be parsed.
    perform: async (input, ask) => content(JSON.stringify(await perform(fieldsOf(input), ask))),
  }
}

/** Reads the page of an app. What the list of resources alone says of it, such as its CSP, is added to its content. */
async function readPage(pages: ReadonlySet<string>, uri: string, ask: AskServer): Promise<object> {
  if (!pages.has(uri)) throw refusal(`No tool names the page "${uri}".`)
  const result = await ask('resources/read', { uri })
  const contents = (Array.isArray(result['contents']) ? result['contents'] : []).map(fieldsOf)
  const isBare = contents.some((each) => fieldsOf(each['_meta'])['ui'] === undefined)
  const entries = isBare ? await listAll('resources/list', 'resources', ask).catch(() => []) : []
  const entry = entries.map(fieldsOf).find((each) => each['uri'] === uri)
  const { ui } = fieldsOf(entry?.['_meta'])
  return {
    contents: contents.map(({ mimeType, text, blob, _meta }) => ({
      uri,
      mimeType,
      text,
      blob,
      _meta: { ui, ...fieldsOf(_meta) },
    })),
  }
}

async function listPrompts(patterns: readonly string[], ask: AskServer): Promise<object> {
  const entries = await listAll('prompts/list', 'prompts', ask)
  return {
    prompts: entries.map(fieldsOf).flatMap((prompt) => {
      const { name, arguments: parameters } = prompt
      if (!isSelected(textOf(name), patterns)) return []
      const fields = (Array.isArray(parameters) ? parameters : []).map(fieldsOf)
      return [
        {
          ...outline(prompt),
          ...(fields.length > 0 && {
            arguments: fields.map((each) => ({ ...outline(each), required: each['required'] === true })),
          }),
        },
      ]
    }),
  }
}

/** Returns what people read of a prompt, or of an argument of it. */
function outline(fields: Fields): object {
  const texts = ['title', 'description'].map((key) => [key, visible(textOf(fields[key]))] as const)
  return { name: textOf(fields['name']), ...Object.fromEntries(texts.filter(([, text]) => text !== '')) }
}

async function getPrompt(patterns: readonly string[], input: Fields, ask: AskServer): Promise<object> {
  const { name, arguments: values } = input
  if (!isSelected(textOf(name), patterns)) throw refusal(`The prompt "${textOf(name)}" is not on offer.`)
  const result = await ask('prompts/get', { name, ...(values !== undefined && { arguments: values }) })
  if (result['resultType'] === 'input_required') askFor(result)
  const { description, messages } = result
  return {
    ...(textOf(description) && { description }),
    messages: Array.isArray(messages) ? messages : [],
  }
}

function isSelected(name: string, patterns: readonly string[]): boolean {
  return name !== '' && patterns.some((pattern) => isLike(name, pattern))
}

function refusal(message: string): ToolError {
  return new ToolError(message, { code: 'resource_not_allowed' })
}
