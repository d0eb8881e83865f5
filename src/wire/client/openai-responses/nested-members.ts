import { fieldsOf, objectsOf } from '../../fields.ts'
import { type Members, membersIn, membersOfType } from '../members.ts'

const ITEM = { type: 'honoured', id: 'honoured', status: 'honoured' } as const
/** `caller`: a program of the vendor's, which no edge runs. */
const CALL = { ...ITEM, call_id: 'honoured', caller: 'ignored' } as const
const NAMED_CALL = { ...CALL, name: 'honoured', namespace: 'honoured', async: 'ignored' } as const
const OUTPUT = { ...CALL, output: 'honoured' } as const
const MCP = { ...ITEM, server_label: 'honoured' } as const
const MCP_CALL = { ...MCP, name: 'honoured', arguments: 'honoured' } as const
const COMPACTION = { ...ITEM, encrypted_content: 'honoured' } as const

/** What is done with each member of an item of `input`, by the type of the item. An item of another type is refused. */
export const ITEM_MEMBERS = {
  message: { ...ITEM, role: 'honoured', content: 'honoured', phase: 'forwarded' },
  // What one agent of Codex tells another.
  agent_message: { ...ITEM, content: 'honoured', author: 'honoured', recipient: 'honoured' },
  reasoning: { ...COMPACTION, summary: 'honoured', content: 'ignored' },
  function_call: { ...NAMED_CALL, arguments: 'honoured' },
  function_call_output: { ...OUTPUT, name: 'honoured', namespace: 'honoured' },
  custom_tool_call: { ...NAMED_CALL, input: 'honoured' },
  custom_tool_call_output: OUTPUT,
  local_shell_call: { ...CALL, action: 'honoured' },
  local_shell_call_output: OUTPUT,
  shell_call: { ...CALL, action: 'honoured', environment: 'honoured' },
  shell_call_output: { ...OUTPUT, max_output_length: 'honoured' },
  apply_patch_call: { ...CALL, operation: 'honoured' },
  apply_patch_call_output: OUTPUT,
  tool_search_call: { ...CALL, execution: 'honoured', arguments: 'honoured' },
  tool_search_output: { ...CALL, execution: 'honoured', tools: 'honoured' },
  additional_tools: { ...ITEM, role: 'honoured', tools: 'honoured' },
  configuration_update: { ...ITEM, reasoning: 'forwarded', text: 'forwarded' },
  mcp_list_tools: { ...MCP, tools: 'honoured', error: 'honoured' },
  mcp_call: { ...MCP_CALL, approval_request_id: 'honoured', output: 'honoured', error: 'honoured' },
  mcp_approval_request: MCP_CALL,
  mcp_approval_response: { ...ITEM, approval_request_id: 'honoured', approve: 'honoured', reason: 'honoured' },
  item_reference: ITEM,
  compaction: COMPACTION,
  compaction_summary: COMPACTION,
  context_compaction: COMPACTION,
  compaction_trigger: ITEM,
  // What a provider has done: what it wants back of that is in the data of the answer.
  web_search_call: { ...ITEM, action: 'honoured' },
  file_search_call: { ...ITEM, queries: 'honoured', results: 'honoured' },
  code_interpreter_call: { ...ITEM, code: 'honoured', container_id: 'honoured', outputs: 'honoured' },
  // What only the vendor's own servers do.
  image_generation_call: { type: 'ignored' },
  computer_call: { type: 'ignored' },
  computer_call_output: { type: 'ignored' },
  program: { type: 'ignored' },
  program_output: { type: 'ignored' },
} as const satisfies Readonly<Record<string, Members>>

const PART = { type: 'honoured', prompt_cache_breakpoint: 'ignored' } as const

/** What is done with each member of a part of content, by its type. A part of another type is refused. */
export const INPUT_PART_MEMBERS = {
  input_text: { ...PART, text: 'honoured' },
  // Of an answer that is sent back, the rest says nothing to a model.
  output_text: { type: 'honoured', text: 'honoured', annotations: 'honoured', logprobs: 'honoured' },
  refusal: { type: 'honoured', refusal: 'honoured' },
  input_image: { ...PART, image_url: 'honoured', file_id: 'refused', detail: 'ignored' },
  input_file: {
    ...PART,
    file_data: 'honoured',
    file_url: 'honoured',
    file_id: 'refused',
    filename: 'ignored',
    detail: 'ignored',
  },
} as const satisfies Readonly<Record<string, Members>>

const TOOL = { type: 'honoured', allowed_callers: 'ignored' } as const

/** The same of a tool of the caller, by its type. */
export const CALLER_TOOL_MEMBERS = {
  function: {
    ...TOOL,
    name: 'honoured',
    description: 'honoured',
    parameters: 'honoured',
    strict: 'honoured',
    defer_loading: 'honoured',
    async: 'ignored',
    output_schema: 'ignored',
  },
  custom: {
    ...TOOL,
    name: 'honoured',
    description: 'honoured',
    format: 'honoured',
    defer_loading: 'ignored',
    async: 'ignored',
  },
  namespace: { type: 'honoured', name: 'honoured', description: 'honoured', tools: 'honoured' },
  tool_search: { type: 'honoured', execution: 'honoured', description: 'honoured', parameters: 'honoured' },
  local_shell: { type: 'honoured' },
  shell: { ...TOOL, environment: 'honoured' },
  apply_patch: TOOL,
} as const satisfies Readonly<Record<string, Members>>

/** What is done with each member within members of the request, by their places. */
export const RESPONSES_PARTS = {
  tool_choice: {
    type: 'honoured',
    name: 'honoured',
    namespace: 'honoured',
    mode: 'honoured',
    tools: 'honoured',
    server_label: 'honoured',
  },
  text: { format: 'honoured', verbosity: 'forwarded' },
  'text.format': { type: 'honoured', name: 'honoured', schema: 'honoured', strict: 'honoured', description: 'ignored' },
  reasoning: {
    effort: 'forwarded',
    summary: 'vendor',
    context: 'vendor',
    generate_summary: 'ignored',
    mode: 'ignored',
  },
  conversation: { id: 'honoured' },
} as const satisfies Readonly<Record<string, Members>>

/** Returns what is ignored within the members of a request, each place once: that of a list without its index. */
export function ignoredInResponses(body: unknown): readonly string[] {
  const places = new Set<string>()
  const add = (value: unknown, members: Members | undefined, place: string) => {
    for (const name of members ? membersIn(value, members, 'ignored') : []) places.add(`${place}.${name}`)
  }
  const addTools = (tools: unknown, place: string) => {
    for (const tool of objectsOf(tools)) {
      add(tool, membersOfType(CALLER_TOOL_MEMBERS, tool['type']), place)
      if (tool['type'] === 'namespace') addTools(tool['tools'], `${place}.tools[]`)
    }
  }
  const addContent = (content: unknown, place: string) => {
    for (const { detail, ...part } of objectsOf(content)) {
      // `auto` is what the edge asks for.
      add({ ...part, ...(detail !== 'auto' && { detail }) }, membersOfType(INPUT_PART_MEMBERS, part['type']), place)
    }
  }
  const request = fieldsOf(body)
  for (const item of objectsOf(request['input'])) {
    const { type = 'role' in item ? 'message' : 'item_reference' } = item
    const place = `input[].${String(type)}`
    const members = membersOfType(ITEM_MEMBERS, type)
    if (members?.['type'] === 'ignored') places.add(place)
    else add(item, members, place)
    addContent(item['content'], `${place}.content[]`)
    addContent(item['output'], `${place}.output[]`)
    addTools(item['tools'], `${place}.tools[]`)
  }
  addTools(request['tools'], 'tools[]')
  for (const name of ['tool_choice', 'text', 'reasoning', 'conversation'] as const)
    add(request[name], RESPONSES_PARTS[name], name)
  add(fieldsOf(request['text'])['format'], RESPONSES_PARTS['text.format'], 'text.format')
  return [...places]
}
