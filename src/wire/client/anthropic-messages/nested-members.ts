import { isObject } from '../../../contract/json.ts'
import { type Members, membersIn, membersOfType } from '../members.ts'

/** What marks what is cached, which the edge does by itself. */
const BLOCK = { type: 'honoured', cache_control: 'honoured' } as const
/** What a provider has done: what it wants back of that is in the data of the answer. */
const SERVER_RESULT = { ...BLOCK, tool_use_id: 'honoured', content: 'honoured', caller: 'honoured' } as const

/** What is done with each member of a block of content, by the type of the block. A block of another type is refused. */
export const BLOCK_MEMBERS = {
  text: { ...BLOCK, text: 'honoured', citations: 'honoured' },
  image: { ...BLOCK, source: 'honoured', transformations: 'ignored' },
  document: { ...BLOCK, source: 'honoured', title: 'honoured', context: 'honoured', citations: 'refused' },
  search_result: { ...BLOCK, content: 'honoured', source: 'honoured', title: 'honoured', citations: 'refused' },
  thinking: { type: 'honoured', thinking: 'honoured', signature: 'honoured' },
  redacted_thinking: { type: 'honoured', data: 'honoured' },
  tool_use: {
    ...BLOCK,
    id: 'honoured',
    name: 'honoured',
    input: 'honoured',
    caller: 'honoured',
    toolset_name: 'ignored',
  },
  tool_result: {
    ...BLOCK,
    tool_use_id: 'honoured',
    content: 'honoured',
    is_error: 'honoured',
    toolset_name: 'ignored',
  },
  tool_reference: { ...BLOCK, tool_name: 'honoured' },
  browser_state: { type: 'ignored', cache_control: 'ignored', tabs: 'ignored', state_changes: 'ignored' },
  mcp_tool_use: { ...BLOCK, id: 'honoured', input: 'honoured', name: 'honoured', server_name: 'honoured' },
  mcp_tool_result: { ...BLOCK, tool_use_id: 'honoured', content: 'honoured', is_error: 'honoured' },
  mcp_tool_listing: { type: 'honoured', mcp_server_name: 'honoured', tools: 'honoured' },
  server_tool_use: { ...BLOCK, id: 'honoured', input: 'honoured', name: 'honoured', caller: 'honoured' },
  web_search_tool_result: SERVER_RESULT,
  web_fetch_tool_result: SERVER_RESULT,
  advisor_tool_result: SERVER_RESULT,
  code_execution_tool_result: SERVER_RESULT,
  bash_code_execution_tool_result: SERVER_RESULT,
  text_editor_code_execution_tool_result: SERVER_RESULT,
  tool_search_tool_result: SERVER_RESULT,
  container_upload: { ...BLOCK, file_id: 'refused' },
  compaction: {
    ...BLOCK,
    content: 'honoured',
    encrypted_content: 'honoured',
    signature: 'honoured',
    tool_changes: 'honoured',
  },
  tool_addition: { type: 'ignored', cache_control: 'ignored', tool: 'ignored' },
  tool_removal: { type: 'ignored', cache_control: 'ignored', tool: 'ignored' },
  fallback: { ...BLOCK, from: 'honoured', to: 'honoured', trigger: 'honoured' },
} as const satisfies Readonly<Record<string, Members>>

/** What is done with each member of a message, of a tool of the caller, and of other members of a request. */
export const PART_MEMBERS = {
  messages: { role: 'honoured', content: 'honoured', clear_at: 'ignored', output_config: 'ignored' },
  tools: {
    type: 'honoured',
    name: 'honoured',
    description: 'honoured',
    input_schema: 'honoured',
    input_examples: 'honoured',
    strict: 'honoured',
    defer_loading: 'honoured',
    allowed_callers: 'honoured',
    cache_control: 'honoured',
    eager_input_streaming: 'ignored',
  },
  tool_choice: { type: 'honoured', name: 'honoured', disable_parallel_tool_use: 'forwarded' },
  thinking: { type: 'forwarded', budget_tokens: 'forwarded', display: 'forwarded', block_binding: 'ignored' },
  output_config: { effort: 'forwarded', format: 'honoured', task_budget: 'ignored' },
} as const satisfies Readonly<Record<string, Members>>

/** Returns what is ignored within the members of a request, each place once: that of a list without its index. */
export function ignoredParts(body: unknown): readonly string[] {
  if (!isObject(body)) return []
  const places = new Set<string>()
  const add = (values: unknown, members: Members, place: string) => {
    for (const name of membersIn(values, members, 'ignored')) places.add(`${place}.${name}`)
  }
  for (const message of listIn(body['messages'])) {
    add(message, PART_MEMBERS.messages, 'messages[]')
    for (const name of ignoredBlocks(isObject(message) ? message['content'] : []))
      places.add(`messages[].content[].${name}`)
  }
  for (const name of ignoredBlocks(body['system'])) places.add(`system[].${name}`)
  for (const tool of listIn(body['tools'])) {
    const isOfCaller = isObject(tool) && (tool['type'] == null || tool['type'] === 'custom')
    if (isOfCaller) add(tool, PART_MEMBERS.tools, 'tools[]')
  }
  for (const part of ['tool_choice', 'thinking', 'output_config'] as const) add(body[part], PART_MEMBERS[part], part)
  return [...places]
}

/** Returns what is ignored in blocks of content: the types of whole blocks, and members of others. */
function ignoredBlocks(content: unknown): readonly string[] {
  return listIn(content).flatMap((block) => {
    const type = isObject(block) ? String(block['type']) : ''
    const members = membersOfType(BLOCK_MEMBERS, type)
    if (!isObject(block) || !members) return []
    if (members['type'] === 'ignored') return [type]
    return [
      ...membersIn(block, members, 'ignored').map((name) => `${type}.${name}`),
      ...(type === 'tool_result' ? ignoredBlocks(block['content']).map((name) => `content[].${name}`) : []),
    ]
  })
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
