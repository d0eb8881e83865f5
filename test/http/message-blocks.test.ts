import type Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { BLOCK_MEMBERS, PART_MEMBERS } from '../../src/wire/client/anthropic-messages/nested-members.ts'
import type { Handling } from '../../src/wire/client/members.ts'
import { say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

type KeysOf<Union> = Union extends unknown ? keyof Union : never
type Table<Union> = Readonly<Record<KeysOf<Union>, Handling>>
type TablesOf<Union extends { type: string }> = {
  readonly [Type in Union['type']]: Table<Extract<Union, { type: Type }>>
}

type ListOf<Content> = Extract<Content, readonly unknown[]>[number]
type Block =
  | Anthropic.ContentBlockParam
  | Anthropic.Beta.BetaContentBlockParam
  | ListOf<Anthropic.ToolResultBlockParam['content']>
  | ListOf<Anthropic.Beta.BetaToolResultBlockParam['content']>

/** These do not compile when the vendor's schema has a block, or a member, of which the tables say nothing. */
const BLOCKS: TablesOf<Block> = BLOCK_MEMBERS
const PARTS: {
  readonly messages: Table<Anthropic.MessageParam | Anthropic.Beta.BetaMessageParam>
  readonly tools: Table<Anthropic.Tool | Anthropic.Beta.BetaTool>
  readonly tool_choice: Table<Anthropic.ToolChoice | Anthropic.Beta.BetaToolChoice>
  readonly thinking: Table<Anthropic.ThinkingConfigParam | Anthropic.Beta.BetaThinkingConfigParam>
  readonly output_config: Table<Anthropic.OutputConfig | Anthropic.Beta.BetaOutputConfig>
} = PART_MEMBERS

type BlockType = Block['type']

const model = 'test/scripted'
const text = { type: 'text', text: 'a' }
const tool = { name: 'look', input_schema: { type: 'object' } }
const use = { type: 'tool_use', id: 'u', name: 'look', input: {} }
const result = { type: 'tool_result', tool_use_id: 'u' }
const reference = { type: 'tool_reference', tool_name: 'look' }
const done = { tool_use_id: 's', content: [] }

/** A block of each type as small as it can be, and where it stands: in a message of the user, of the assistant, or in a result. */
const SAMPLES: Readonly<Record<BlockType, readonly ['user' | 'assistant' | 'result', object]>> = {
  text: ['user', text],
  image: ['user', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' } }],
  document: ['user', { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } }],
  search_result: ['user', { type: 'search_result', title: 'a', source: 'b', content: [text] }],
  thinking: ['assistant', { type: 'thinking', thinking: 'a', signature: 's' }],
  redacted_thinking: ['assistant', { type: 'redacted_thinking', data: 's' }],
  tool_use: ['assistant', use],
  tool_result: ['result', text],
  tool_reference: ['result', reference],
  browser_state: ['result', { type: 'browser_state', tabs: [] }],
  mcp_tool_use: ['assistant', { type: 'mcp_tool_use', id: 'm', name: 'look', server_name: 's', input: {} }],
  mcp_tool_result: ['assistant', { type: 'mcp_tool_result', tool_use_id: 'm', content: 'a' }],
  mcp_tool_listing: ['assistant', { type: 'mcp_tool_listing', mcp_server_name: 's', tools: [] }],
  server_tool_use: ['assistant', { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }],
  web_search_tool_result: ['assistant', { type: 'web_search_tool_result', ...done }],
  web_fetch_tool_result: ['assistant', { type: 'web_fetch_tool_result', ...done }],
  advisor_tool_result: ['assistant', { type: 'advisor_tool_result', ...done }],
  code_execution_tool_result: ['assistant', { type: 'code_execution_tool_result', ...done }],
  bash_code_execution_tool_result: ['assistant', { type: 'bash_code_execution_tool_result', ...done }],
  text_editor_code_execution_tool_result: ['assistant', { type: 'text_editor_code_execution_tool_result', ...done }],
  tool_search_tool_result: ['assistant', { type: 'tool_search_tool_result', ...done }],
  container_upload: ['user', { type: 'container_upload', file_id: 'f' }],
  compaction: ['assistant', { type: 'compaction', content: 'a' }],
  tool_addition: ['user', { type: 'tool_addition', tool: { type: 'tool_reference', name: 'look' } }],
  tool_removal: ['user', { type: 'tool_removal', tool: { type: 'tool_reference', name: 'look' } }],
  fallback: ['assistant', { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } }],
}

/** A history in which a block stands. A block of a result stands within it, and the call of a result before it. */
function historyWith(type: BlockType, others: object = {}): readonly object[] {
  const [place, sample] = SAMPLES[type]
  const first = { role: 'user', content: [text] }
  const end = { role: 'user', content: [text] }
  if (place === 'user') return [{ role: 'user', content: [text, { ...sample, ...others }] }]
  if (place === 'result') {
    const isResult = type === 'tool_result'
    const block = { ...result, content: [isResult ? sample : { ...sample, ...others }], ...(isResult && others) }
    return [first, { role: 'assistant', content: [use] }, { role: 'user', content: [block] }]
  }
  const before = type === 'mcp_tool_result' ? [SAMPLES.mcp_tool_use[1]] : [text]
  const after = type === 'mcp_tool_use' ? [SAMPLES.mcp_tool_result[1]] : []
  const answer = { role: 'assistant', content: [...before, { ...sample, ...others }, ...after] }
  return [first, answer, type === 'tool_use' ? { role: 'user', content: [{ ...result, content: 'a' }] } : end]
}

async function send(members: object, vars: Record<string, string> = {}) {
  const edge = keptEdge({ script: [say('Done.')], vars })
  const response = await edge.post('/v1/messages', { model, max_tokens: 100, tools: [tool], ...members })
  const body = await response.json<{ error?: object }>()
  return { status: response.status, ignored: response.headers.get('edgecall-ignored'), error: body.error }
}

const refusal = { type: 'invalid_request_error', details: { error_code: 'unsupported_value' } }

describe('a block of content', () => {
  const types = Object.keys(BLOCKS) as BlockType[]

  test.each(types)('is handled as the table says: %s', async (type) => {
    const { status, ignored, error } = await send({ messages: historyWith(type) })
    const handlings: readonly Handling[] = Object.values(BLOCKS[type])
    if (type === 'container_upload') return expect([status, error]).toMatchObject([400, refusal])
    const isIgnored = handlings.every((handling) => handling === 'ignored')
    expect([status, ignored?.endsWith(`content[].${type}`) ?? false]).toEqual([200, isIgnored])
  })

  const members = types.flatMap((type) =>
    Object.entries(BLOCKS[type]).flatMap(([name, handling]) =>
      handling === 'ignored' && BLOCKS[type].type !== 'ignored' ? [[type, name] as const] : [],
    ),
  )
  test.each([
    ...members,
    ...types.filter((type) => BLOCKS[type].type !== 'ignored').map((type) => [type, 'unheard'] as const),
  ])('has a member that is ignored, and named: %s.%s', async (type, name) => {
    const messages = historyWith(type, { [name]: 7 })
    const { status, ignored } = await send({ messages })
    if (type === 'container_upload') return expect(status).toBe(400)
    const within = SAMPLES[type][0] === 'result' && type !== 'tool_result' ? 'content[].content[]' : 'content[]'
    expect([status, ignored]).toEqual([200, `messages[].${within}.${type}.${name}`])
    expect((await send({ messages }, { CLIENT_MEMBERS: 'strict' })).status).toBe(400)
  })

  test.each([
    [{ type: 'document', source: { type: 'file', file_id: 'f' } }],
    [{ type: 'image', source: { type: 'file', file_id: 'f' } }],
    [{ ...SAMPLES.document[1], citations: { enabled: true } }],
  ])('is refused with a code of its own if only the vendor has what it names: %j', async (block) => {
    const { status, error } = await send({ messages: [{ role: 'user', content: [text, block] }] })
    expect([status, error]).toMatchObject([400, refusal])
  })
})

describe('a member within another', () => {
  const samples = {
    messages: (more: object) => ({ messages: [{ role: 'user', content: 'a', ...more }] }),
    tools: (more: object) => ({ tools: [{ ...tool, ...more }] }),
    tool_choice: (more: object) => ({ tool_choice: { type: 'auto', ...more } }),
    thinking: (more: object) => ({ thinking: { type: 'adaptive', ...more } }),
    output_config: (more: object) => ({ output_config: { effort: 'low', ...more } }),
  }
  const rows = Object.entries(PARTS).flatMap(([part, table]) => [
    ...Object.entries(table).flatMap(([name, handling]) => (handling === 'ignored' ? [[part, name] as const] : [])),
    [part, 'unheard'] as const,
  ])

  test.each(rows)('is ignored, and named: %s.%s', async (part, name) => {
    const { messages, ...others } = samples
    const members = { ...messages({}), ...Reflect.get({ messages, ...others }, part)({ [name]: 7 }) }
    const { status, ignored } = await send(members)
    const place = part === 'messages' || part === 'tools' ? `${part}[]` : part
    expect([status, ignored]).toEqual([200, `${place}.${name}`])
  })
})

test.each([
  ['browser_toolset_20260801', undefined],
  ['mcp_toolset', undefined],
  ['unheard_20270101', 'unheard'],
])('a tool, or a set of them, that only Anthropic knows is not offered, and named: %s', async (type, name) => {
  const messages = [{ role: 'user', content: 'a' }]
  expect(await send({ messages, tools: [tool, { type, ...(name && { name }) }] })).toMatchObject({
    status: 200,
    ignored: 'tools[1]',
  })
})
