import type Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'
import { messageReply, textReply, UPSTREAMS, upstreamEdge } from './upstream-edge.ts'

const model = 'test/scripted'
const user = { role: 'user', content: 'Go' } as const

/** A declaration of each tool that Anthropic defines and the caller runs. */
const TOOLS = {
  bash_20241022: { type: 'bash_20241022', name: 'bash' },
  bash_20250124: { type: 'bash_20250124', name: 'bash' },
  text_editor_20241022: { type: 'text_editor_20241022', name: 'str_replace_editor' },
  text_editor_20250124: { type: 'text_editor_20250124', name: 'str_replace_editor' },
  text_editor_20250429: { type: 'text_editor_20250429', name: 'str_replace_based_edit_tool' },
  text_editor_20250728: {
    type: 'text_editor_20250728',
    name: 'str_replace_based_edit_tool',
    max_characters: 1000,
  },
  memory_20250818: { type: 'memory_20250818', name: 'memory' },
  computer_20241022: { type: 'computer_20241022', name: 'computer', display_width_px: 800, display_height_px: 600 },
  computer_20250124: { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600 },
  computer_20251124: {
    type: 'computer_20251124',
    name: 'computer',
    display_width_px: 800,
    display_height_px: 600,
    enable_zoom: true,
  },
} as const satisfies {
  // This does not compile when the vendor's schema has such a tool that is not here.
  readonly [
    Type in Extract<
      Anthropic.Beta.BetaToolUnion['type'],
      `${'bash' | 'text_editor' | 'memory' | 'computer'}_2${string}`
    >
  ]: Extract<Anthropic.Beta.BetaToolUnion, { type: Type }>
}

const tools = Object.values(TOOLS)

function bodyWith(tool: object, more: object = {}): object {
  return { model, max_tokens: 100, messages: [user], tools: [tool], ...more }
}

describe('a tool that Anthropic defines and the caller runs', () => {
  test.each(tools)('is declared to a model of Anthropic as it is: $type', async (tool) => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    const more = { cache_control: { type: 'ephemeral' }, strict: null }
    const response = await edge.post('/v1/messages', bodyWith({ ...tool, ...more }))
    expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([200, null])
    expect(edge.calls[0]?.body.tools).toEqual([tool])
  })

  test.each(tools)('is a function for any other model: $type', async (tool) => {
    const edge = await upstreamEdge(() => UPSTREAMS.chat.done, UPSTREAMS.chat.provider)
    const response = await edge.post('/v1/messages', bodyWith(tool))
    expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([200, null])
    const parameters = { type: 'object', properties: expect.any(Object) }
    expect(edge.calls[0]?.body.tools).toMatchObject([{ type: 'function', function: { name: tool.name, parameters } }])
  })

  test('has the arguments that Anthropic documents', async () => {
    const edge = keptEdge({ script: [say('Done.')] })
    const four = [TOOLS.bash_20250124, TOOLS.text_editor_20250728, TOOLS.memory_20250818, TOOLS.computer_20251124]
    await edge.post('/v1/messages', { ...bodyWith({}), tools: four })
    const file = ['path', 'view_range', 'file_text', 'old_str', 'new_str', 'insert_line', 'insert_text']
    const where = ['action', 'coordinate', 'start_coordinate', 'text', 'scroll_direction', 'scroll_amount', 'duration']
    expect(
      edge.requests[0]?.tools.map(({ name, inputSchema }) => [name, Object.keys(Object(inputSchema.properties))]),
    ).toEqual([
      ['bash', ['command', 'restart']],
      ['str_replace_based_edit_tool', ['command', ...file]],
      ['memory', ['command', ...file, 'old_path', 'new_path']],
      ['computer', [...where, 'region']],
    ])
    expect(edge.requests[0]?.tools[3]?.description).toContain('800 by 600 pixels')
  })

  test('is run by the caller, whose result continues the run', async () => {
    const use = { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } }
    const edge = await upstreamEdge((_, index) => (index === 0 ? messageReply([use], 'tool_use') : textReply('Done.')))
    const first: any = await (await edge.post('/v1/messages', bodyWith(TOOLS.bash_20250124))).json()
    expect(first.content).toEqual([{ ...use, id: first.content[0].id, caller: first.content[0].caller }])
    const result = { type: 'tool_result', tool_use_id: first.content[0].id, content: 'a.txt' }
    const messages = [user, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }]
    const second = await edge.post('/v1/messages', bodyWith(TOOLS.bash_20250124, { messages }))
    expect(await second.text()).toContain('Done.')
    expect(edge.calls[1]?.body.tools).toEqual([TOOLS.bash_20250124])
  })

  test('is a function for a server that does not know it, from then on', async () => {
    const message = "tools.0: Input tag 'bash_20250124' found using 'type' does not match any of the expected tags"
    const refusal = { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } }
    const edge = await upstreamEdge(({ body }) => ('type' in (body.tools?.[0] ?? {}) ? refusal : textReply('Done.')))
    for (const _ of [1, 2]) {
      const response = await edge.post('/v1/messages', bodyWith(TOOLS.bash_20250124))
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Done.')])
    }
    expect(edge.calls.map(({ body }) => Object.keys(body.tools?.[0] ?? {}))).toEqual([
      ['type', 'name'],
      ['name', 'description', 'input_schema'],
      ['name', 'description', 'input_schema'],
    ])
  })

  test('may need a beta, whose name is passed on', async () => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    const betas = { 'anthropic-beta': 'computer-use-2025-01-24' }
    const response = await edge.post('/v1/messages', bodyWith(TOOLS.computer_20250124), betas)
    expect(response.headers.get('edgecall-ignored')).toBeNull()
    expect(edge.calls[0]?.headers['anthropic-beta']).toBe('computer-use-2025-01-24')
  })

  test('of a name that is used twice, or that is none, is refused', async () => {
    const { post } = keptEdge({ script: [] })
    const twice = await post('/v1/messages', { ...bodyWith({}), tools: [TOOLS.bash_20250124, TOOLS.bash_20241022] })
    const nameless = await post('/v1/messages', bodyWith({ type: 'bash_20250124' }))
    expect([twice.status, nameless.status]).toEqual([400, 400])
  })
})
