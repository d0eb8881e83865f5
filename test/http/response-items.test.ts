import type OpenAI from 'openai'
import type {
  FunctionTool,
  ApplyPatchTool,
  CustomTool,
  FunctionShellTool,
  NamespaceTool,
  ResponseFormatTextConfig,
  ResponseFunctionCallOutputItem,
  ResponseInputContent,
  ResponseInputItem,
  ResponseOutputMessage,
  Tool,
  ToolSearchTool,
} from 'openai/resources/responses/responses'
import { describe, expect, test } from 'vitest'
import type { Handling } from '../../src/wire/client/members.ts'
import {
  INPUT_PART_MEMBERS,
  ITEM_MEMBERS,
  RESPONSES_PARTS,
  CALLER_TOOL_MEMBERS,
} from '../../src/wire/client/openai-responses/nested-members.ts'
import { say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'
import { UPSTREAMS, upstreamEdge } from './upstream-edge.ts'

type KeysOf<Union> = Union extends unknown ? keyof Union : never
type Table<Union> = Readonly<Record<KeysOf<Union>, Handling>>
/** A type may be left out, or null. */
type OfType<Union, Type> = Union extends { type?: infer Each }
  ? Type extends NonNullable<Each>
    ? Union
    : never
  : never
type TypeIn<Union> = Union extends { type?: infer Each } ? NonNullable<Each> & string : never
/** A whole item that is ignored needs no more said. */
type TablesOf<Union> = {
  readonly [Type in TypeIn<Union>]: Table<OfType<Union, Type>> | { readonly type: 'ignored' }
}

type ItemType = TypeIn<ResponseInputItem>
type Part = ResponseInputContent | ResponseOutputMessage['content'][number] | ResponseFunctionCallOutputItem
type OwnTool =
  | FunctionTool
  | NamespaceTool.Function
  | CustomTool
  | NamespaceTool
  | ToolSearchTool
  | FunctionShellTool
  | ApplyPatchTool
  | Tool.LocalShell
type Body = OpenAI.Responses.ResponseCreateParams

/** These do not compile when the vendor's schema has an item, a part, or a member, of which the tables say nothing. */
const ITEMS: TablesOf<ResponseInputItem> = ITEM_MEMBERS
const CONTENT: TablesOf<Part> = INPUT_PART_MEMBERS
const TOOLS: TablesOf<OwnTool> = CALLER_TOOL_MEMBERS
const PARTS: {
  readonly tool_choice: Table<Exclude<NonNullable<Body['tool_choice']>, string>>
  readonly text: Table<NonNullable<Body['text']>>
  readonly 'text.format': Table<ResponseFormatTextConfig>
  readonly reasoning: Table<NonNullable<Body['reasoning']>>
  readonly conversation: Table<Exclude<NonNullable<Body['conversation']>, string>>
} = RESPONSES_PARTS

const model = 'test/scripted'
const user: ResponseInputItem = { role: 'user', content: 'a' }
const id = 'item_1'
const call = { call_id: 'c' }
const done = { id, status: 'completed' } as const
const png = 'data:image/png;base64,iVBORw=='
const shell = { stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } } as const
const reference = 'fc_call_0000000000000000000000_1_0_conv_1'

/** An item of each type as small as it can be, and what must stand around it. */
const SAMPLES: { readonly [Type in ItemType]: readonly [OfType<ResponseInputItem, Type>, ...ResponseInputItem[]] } = {
  message: [{ type: 'message', role: 'assistant', content: 'a' }, user],
  reasoning: [{ type: 'reasoning', id, summary: [], encrypted_content: 's' }, user],
  function_call: [
    { type: 'function_call', ...call, name: 'look', arguments: '{}' },
    { type: 'function_call_output', ...call, output: 'a' },
  ],
  function_call_output: [
    { type: 'function_call_output', ...call, output: 'a' },
    { type: 'function_call', ...call, name: 'look', arguments: '{}' },
  ],
  custom_tool_call: [
    { type: 'custom_tool_call', ...call, name: 'look', input: 'a' },
    { type: 'custom_tool_call_output', ...call, output: 'a' },
  ],
  custom_tool_call_output: [
    { type: 'custom_tool_call_output', ...call, output: 'a' },
    { type: 'custom_tool_call', ...call, name: 'look', input: 'a' },
  ],
  local_shell_call: [
    { type: 'local_shell_call', ...done, ...call, action: { type: 'exec', command: ['ls'], env: {} } },
    { type: 'local_shell_call_output', id: 'c', output: 'a' },
  ],
  local_shell_call_output: [
    { type: 'local_shell_call_output', id: 'c', output: 'a' },
    { type: 'local_shell_call', ...done, ...call, action: { type: 'exec', command: ['ls'], env: {} } },
  ],
  shell_call: [
    { type: 'shell_call', ...call, action: { commands: ['ls'] } },
    { type: 'shell_call_output', ...call, output: [shell] },
  ],
  shell_call_output: [
    { type: 'shell_call_output', ...call, output: [shell] },
    { type: 'shell_call', ...call, action: { commands: ['ls'] } },
  ],
  apply_patch_call: [
    { type: 'apply_patch_call', ...call, status: 'completed', operation: { type: 'delete_file', path: 'a' } },
    { type: 'apply_patch_call_output', ...call, status: 'completed' },
  ],
  apply_patch_call_output: [
    { type: 'apply_patch_call_output', ...call, status: 'completed' },
    { type: 'apply_patch_call', ...call, status: 'completed', operation: { type: 'delete_file', path: 'a' } },
  ],
  tool_search_call: [
    { type: 'tool_search_call', ...call, arguments: {} },
    { type: 'tool_search_output', ...call, tools: [] },
  ],
  tool_search_output: [
    { type: 'tool_search_output', ...call, tools: [] },
    { type: 'tool_search_call', ...call, arguments: {} },
  ],
  additional_tools: [{ type: 'additional_tools', role: 'developer', tools: [] }],
  configuration_update: [{ type: 'configuration_update', reasoning: { effort: 'low' } }],
  compaction: [{ type: 'compaction', encrypted_content: 'edgecall.summary.eyJzdW1tYXJ5IjoiUyJ9' }],
  compaction_trigger: [{ type: 'compaction_trigger' }],
  item_reference: [{ id: reference }],
  mcp_list_tools: [{ type: 'mcp_list_tools', id, server_label: 's', tools: [] }],
  mcp_call: [{ type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'look', arguments: '{}', output: 'a' }, user],
  mcp_approval_request: [{ type: 'mcp_approval_request', id: 'a', server_label: 's', name: 'look', arguments: '{}' }],
  mcp_approval_response: [{ type: 'mcp_approval_response', approval_request_id: 'a', approve: true }],
  web_search_call: [{ type: 'web_search_call', ...done, action: { type: 'open_page' } }],
  file_search_call: [{ type: 'file_search_call', ...done, queries: [] }],
  code_interpreter_call: [{ type: 'code_interpreter_call', ...done, code: 'a', container_id: 'c', outputs: null }],
  image_generation_call: [{ type: 'image_generation_call', ...done, result: 'iVBORw==' }],
  computer_call: [{ type: 'computer_call', ...done, ...call, pending_safety_checks: [] }],
  computer_call_output: [
    { type: 'computer_call_output', ...call, output: { type: 'computer_screenshot', image_url: png } },
  ],
  program: [{ type: 'program', id, ...call, code: 'a', fingerprint: 'f' }],
  program_output: [{ type: 'program_output', ...done, ...call, result: 'a' }],
}

const types = Object.keys(SAMPLES) as ItemType[]

/** These are about calls, or items, that an edge has stored. */
const STORED: ReadonlySet<string> = new Set(['item_reference', 'mcp_approval_response'])

/** A history with an item, which has these members besides. */
function historyWith(type: ItemType, more: object = {}): readonly object[] {
  const [sample, ...others] = SAMPLES[type]
  const item = { ...sample, ...more }
  if (type === 'compaction_trigger') return [user, item]
  if (type.endsWith('output')) return [user, ...others, item]
  return type === 'configuration_update' ? [item, user] : [user, item, ...others]
}

async function send(members: object, vars: Record<string, string> = {}) {
  const edge = keptEdge({ script: [say('{}')], vars })
  const tools = [{ type: 'function', name: 'look', parameters: {} }]
  const response = await edge.post('/v1/responses', { model, store: false, input: 'a', tools, ...members })
  const body = await response.json<{ error?: { param: string; code: string } }>()
  return { status: response.status, ignored: response.headers.get('edgecall-ignored'), error: body.error }
}

/** Expects that a member is handled as its table says, and any other of these members as one that is not known. */
async function expectHandling(members: object, handling: Handling | undefined, place: string) {
  const { status, ignored, error } = await send(members)
  if (handling === 'refused') return expect([status, error?.code]).toEqual([400, 'unsupported_value'])
  expect([status, ignored]).toEqual([200, place])
  expect((await send(members, { CLIENT_MEMBERS: 'strict' })).status).toBe(400)
}

/** The members of tables that are ignored or refused, and for each type one that it has not. */
function rowsOf(tables: Readonly<Record<string, Readonly<Record<string, Handling>>>>) {
  return Object.entries(tables).flatMap(([type, table]) =>
    [...Object.keys(table), 'unheard'].flatMap((name) => {
      const handling = table['type'] === 'ignored' ? 'honoured' : (table[name] ?? 'ignored')
      return handling === 'ignored' || handling === 'refused' ? [[type, name, handling] as const] : []
    }),
  )
}

describe('an item of an input', () => {
  test.each(types.filter((type) => !STORED.has(type)))('is taken as the table says: %s', async (type) => {
    const { status, ignored, error } = await send({ input: historyWith(type) })
    const isIgnored = ITEM_MEMBERS[type].type === 'ignored'
    expect([status, ignored, error]).toEqual([200, isIgnored ? `input[].${type}` : null, null])
  })

  test.each([{}, { type: null }, { type: 'item_reference' }])(
    'may refer to what the edge has stored, by its id alone: %j',
    async (type) => {
      const { status, error } = await send({ input: [{ ...type, id: reference }, user] })
      expect([status, error?.code]).toEqual([404, 'unknown_conversation'])
    },
  )

  const rows = rowsOf(ITEMS).filter(([type]) => type in SAMPLES && !STORED.has(type))
  test.each(rows)('has a member that is handled as the table says: %s.%s', async (type, name, handling) => {
    const input = historyWith(type as ItemType, { [name]: 7 })
    await expectHandling({ input }, handling, `input[].${type}.${name}`)
  })

  test('of another type is refused', async () => {
    expect((await send({ input: [user, { type: 'unheard' }] })).status).toBe(400)
  })

  test('may have members that are null', async () => {
    for (const type of types.filter((each) => !STORED.has(each))) {
      const names = ['id', 'status', 'caller', 'phase', 'namespace', 'max_output_length', 'created_by']
      const own = Object.keys(SAMPLES[type][0])
      const nulls = Object.fromEntries(names.filter((name) => !own.includes(name)).map((name) => [name, null]))
      expect([type, (await send({ input: historyWith(type, nulls) })).status]).toEqual([type, 200])
    }
  })
})

const PART_SAMPLES: { readonly [Type in TypeIn<Part>]: OfType<Part, Type> } = {
  input_text: { type: 'input_text', text: 'a' },
  output_text: { type: 'output_text', text: 'a', annotations: [] },
  refusal: { type: 'refusal', refusal: 'No.' },
  input_image: { type: 'input_image', image_url: png, detail: 'auto' },
  input_file: { type: 'input_file', file_data: 'data:application/pdf;base64,iVBORw==' },
}

describe('a part of content', () => {
  const withPart = (part: object) => ({ input: [{ role: 'user', content: [part] }] })

  test.each(Object.values(PART_SAMPLES))('is taken: $type', async (part) => {
    expect(await send(withPart(part))).toMatchObject({ status: 200, ignored: null })
    const output = { type: 'function_call_output', ...call, output: [part] }
    expect(await send({ input: [...historyWith('function_call').slice(0, 2), output] })).toMatchObject({ status: 200 })
  })

  test.each(rowsOf(CONTENT))('has a member that is handled as the table says: %s.%s', async (type, name, handling) => {
    const part = { ...PART_SAMPLES[type as keyof typeof PART_SAMPLES], [name]: 7 }
    await expectHandling(withPart(part), handling, `input[].message.content[].${name}`)
    const output = [{ type: 'function_call_output', ...call, output: [part] }]
    const members = { input: [...historyWith('function_call').slice(0, 2), ...output] }
    await expectHandling(members, handling, `input[].function_call_output.output[].${name}`)
  })

  test('that names a file of the vendor is refused with a code of its own', async () => {
    for (const type of ['input_image', 'input_file']) {
      const param = 'input[0].content[0].file_id'
      const { status, error } = await send(withPart({ type, detail: 'auto', file_id: 'f' }))
      expect([status, error]).toMatchObject([400, { param, code: 'unsupported_value' }])
    }
  })
})

describe('a member within another', () => {
  const samples = {
    function: { type: 'function', name: 'see', parameters: {} },
    custom: { type: 'custom', name: 'apply' },
    namespace: { type: 'namespace', name: 'n', description: '', tools: [] },
    tool_search: { type: 'tool_search', execution: 'client' },
    local_shell: { type: 'local_shell' },
    shell: { type: 'shell' },
    apply_patch: { type: 'apply_patch' },
  }

  test.each(rowsOf(TOOLS))('of a tool is handled as the table says: %s.%s', async (type, name, handling) => {
    const tool = { ...samples[type as keyof typeof samples], [name]: name === 'defer_loading' || 7 }
    await expectHandling({ tools: [tool] }, handling, `tools[].${name}`)
    const isNested = type === 'function' || type === 'custom'
    if (!isNested) return
    const tools = [{ ...samples.namespace, tools: [tool] }]
    await expectHandling({ tools }, handling, `tools[].tools[].${name}`)
    const input = [{ type: 'additional_tools', role: 'developer', tools: [tool] }, user]
    await expectHandling({ input }, handling, `input[].additional_tools.tools[].${name}`)
  })

  const schema = { type: 'json_schema', name: 'answer', schema: { type: 'object' } }
  const bodies = {
    tool_choice: (more: object) => ({ tool_choice: { type: 'function', name: 'look', ...more } }),
    text: (more: object) => ({ text: { verbosity: 'low', ...more } }),
    'text.format': (more: object) => ({ text: { format: { ...schema, ...more } } }),
    reasoning: (more: object) => ({ reasoning: { effort: 'low', ...more } }),
  }
  test.each(rowsOf(PARTS).filter(([place]) => place !== 'conversation'))(
    'of the request is handled as the table says: %s.%s',
    async (place, name, handling) => {
      await expectHandling(bodies[place as keyof typeof bodies]({ [name]: 7 }), handling, `${place}.${name}`)
    },
  )
})

test('an item that updates the settings takes the place of those of the request', async () => {
  const edge = await upstreamEdge(() => UPSTREAMS.responses.done, UPSTREAMS.responses.provider)
  const format = { type: 'json_schema', name: 'answer', schema: { type: 'object', properties: {} } }
  const input = [
    user,
    { type: 'configuration_update', reasoning: { effort: 'high' }, text: { format } },
    { type: 'configuration_update', reasoning: { effort: 'minimal' } },
  ]
  const settings = { reasoning: { effort: 'low' }, text: { verbosity: 'high' } }
  await edge.post('/v1/responses', { model, store: false, input, ...settings })
  expect(edge.calls[0]?.body).toMatchObject({
    input: [{ role: 'user', content: 'a' }],
    reasoning: { effort: 'minimal' },
    text: { format, verbosity: 'high' },
  })
})
