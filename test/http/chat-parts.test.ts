import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import type { Handling } from '../../src/wire/client/members.ts'
import {
  CALL_MEMBERS,
  CONTENT_MEMBERS,
  MESSAGE_MEMBERS,
  CHAT_PARTS,
  TOOL_MEMBERS,
} from '../../src/wire/client/openai-chat/nested-members.ts'
import { say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

type KeysOf<Union> = Union extends unknown ? keyof Union : never
type Table<Union> = Readonly<Record<KeysOf<Union>, Handling>>
type TablesBy<Name extends string, Union extends Readonly<Record<Name, string>>> = {
  readonly [Type in Union[Name]]: Table<Extract<Union, Readonly<Record<Name, Type>>>>
}

type Message = OpenAI.ChatCompletionMessageParam
type Part = OpenAI.ChatCompletionContentPart | OpenAI.ChatCompletionContentPartRefusal
type Role = Message['role']
type PartType = Part['type']

/** These do not compile when the vendor's schema has a message, a part, or a member, of which the tables say nothing. */
const MESSAGES: TablesBy<'role', Message> = MESSAGE_MEMBERS
const CONTENT: TablesBy<'type', Part> = CONTENT_MEMBERS
const CALLS: TablesBy<'type', OpenAI.ChatCompletionMessageToolCall> = CALL_MEMBERS
const TOOLS: TablesBy<'type', OpenAI.ChatCompletionTool> = TOOL_MEMBERS
const PARTS: {
  readonly 'content[].image_url': Table<OpenAI.ChatCompletionContentPartImage.ImageURL>
  readonly 'content[].file': Table<OpenAI.ChatCompletionContentPart.File.File>
  readonly 'tool_calls[].function': Table<OpenAI.ChatCompletionMessageFunctionToolCall.Function>
  readonly 'tool_calls[].custom': Table<OpenAI.ChatCompletionMessageCustomToolCall.Custom>
  readonly 'tools[].function': Table<OpenAI.FunctionDefinition>
  readonly 'tools[].custom': Table<OpenAI.ChatCompletionCustomTool.Custom>
  readonly tool_choice: Table<Exclude<OpenAI.ChatCompletionToolChoiceOption, string>>
  readonly stream_options: Table<OpenAI.ChatCompletionStreamOptions>
  readonly response_format: Table<NonNullable<OpenAI.ChatCompletionCreateParams['response_format']>>
  readonly 'response_format.json_schema': Table<OpenAI.ResponseFormatJSONSchema['json_schema']>
} = CHAT_PARTS

const model = 'test/scripted'
const text = { type: 'text', text: 'a' } as const
const user = { role: 'user', content: 'a' } as const
const look = { name: 'look', parameters: { type: 'object' } }
const tools = [
  { type: 'function', function: look },
  { type: 'custom', custom: { name: 'sum' } },
]
const calls = {
  function: { id: 'f', type: 'function', function: { name: 'look', arguments: '{}' } },
  custom: { id: 'c', type: 'custom', custom: { name: 'sum', input: '1' } },
}

/** Each message, with all members of which it needs some. */
const ROLES: { readonly [Each in Role]: Extract<Message, { role: Each }> } = {
  developer: { role: 'developer', content: [text] },
  system: { role: 'system', content: [text] },
  user,
  assistant: { role: 'assistant', content: 'a' },
  tool: { role: 'tool', tool_call_id: 'f', content: [text] },
  function: { role: 'function', name: 'look', content: 'a' },
}

const PART_SAMPLES: { readonly [Each in PartType]: Extract<Part, { type: Each }> } = {
  text,
  refusal: { type: 'refusal', refusal: 'No.' },
  image_url: { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw==' } },
  file: { type: 'file', file: { file_data: 'data:application/pdf;base64,iVBORw==' } },
  input_audio: { type: 'input_audio', input_audio: { data: 'iVBORw==', format: 'wav' } },
}

/** A history in which a message stands, with what must be around it. */
function around(message: { readonly role: string }): readonly object[] {
  if (message.role !== 'tool') return [user, message, user]
  return [user, { role: 'assistant', tool_calls: [calls.function] }, message]
}

/** A history with this part of content, in a message that may have it. */
function withPart(type: PartType, others: object = {}): readonly object[] {
  return around({
    role: type === 'refusal' ? 'assistant' : 'user',
    ...{ content: [{ ...PART_SAMPLES[type], ...others }] },
  })
}

/** A history with this call. */
function withCall(call: { readonly id: string }): readonly object[] {
  const result = { role: 'tool', tool_call_id: call.id, content: 'a' }
  return [user, { role: 'assistant', content: null, tool_calls: [call] }, result]
}

async function send(members: object, vars: Record<string, string> = {}) {
  const edge = keptEdge({ script: [say('{}')], vars })
  const response = await edge.post('/v1/chat/completions', { model, messages: [user], tools, ...members })
  const body = await response.json<{ error?: { param: string; code: string } }>()
  return { status: response.status, ignored: response.headers.get('edgecall-ignored'), error: body.error }
}

/** Expects that a member is handled as its table says, and any other of these members as one that is not known. */
async function expectHandling(members: object, handling: Handling | undefined, place: string) {
  const { status, ignored } = await send(members)
  if (handling === 'refused') return expect(status).toBe(400)
  const isIgnored = handling === undefined || handling === 'ignored'
  if (!isIgnored) return expect(ignored).toBeNull()
  expect([status, ignored]).toEqual([200, place])
  expect((await send(members, { CLIENT_MEMBERS: 'strict' })).status).toBe(400)
}

/** The members of a table, and one that it has not. */
function rowsOf(tables: Readonly<Record<string, Readonly<Record<string, Handling>>>>) {
  return Object.entries(tables).flatMap(([type, table]) =>
    [...Object.keys(table), 'unheard'].map((name) => [type, name, table[name]] as const),
  )
}

describe('a message', () => {
  test.each(Object.keys(MESSAGES) as Role[])('is taken, or refused as the table says: %s', async (role) => {
    const { status, ignored } = await send({ messages: around(ROLES[role]) })
    expect([status, ignored]).toEqual([MESSAGES[role].role === 'refused' ? 400 : 200, null])
  })

  test.each(rowsOf(MESSAGES).filter(([role]) => role !== 'function'))(
    'has a member that is handled as the table says: %s.%s',
    async (role, name, handling) => {
      // A member that is honoured has a type of its own.
      if (handling === 'honoured') return
      const sample = ROLES[role as Role]
      await expectHandling({ messages: around({ ...sample, [name]: 7 }) }, handling, `messages[].${name}`)
    },
  )

  test('of the model may be one that another server has sent, as it is', async () => {
    const answer: OpenAI.ChatCompletionMessage = {
      role: 'assistant',
      content: 'a',
      refusal: null,
      annotations: [],
      audio: null,
    }
    const { status, ignored } = await send({ messages: around({ ...answer, ...{ function_call: null } }) })
    expect([status, ignored]).toEqual([200, null])
  })

  test('that continues what only the vendor has, or knows, is refused', async () => {
    const audio = await send({ messages: around({ ...ROLES.assistant, ...{ audio: { id: 'audio_1' } } }) })
    const old = { function_call: { name: 'look', arguments: '{}' } }
    const call = await send({ messages: around({ ...ROLES.assistant, ...old }) })
    expect([audio, call]).toMatchObject([
      { status: 400, error: { param: 'messages[1].audio', code: 'unsupported_value' } },
      { status: 400, error: { param: 'messages[1].function_call', code: 'unsupported_value' } },
    ])
  })
})

describe('a part of content', () => {
  test.each(Object.keys(CONTENT) as PartType[])('is taken, or refused as the table says: %s', async (type) => {
    const { status, ignored } = await send({ messages: withPart(type) })
    expect([status, ignored]).toEqual([CONTENT[type].type === 'refused' ? 400 : 200, null])
  })

  test.each(rowsOf(CONTENT).filter(([type]) => type !== 'input_audio'))(
    'has a member that is handled as the table says: %s.%s',
    async (type, name, handling) => {
      if (handling === 'honoured') return
      const messages = withPart(type as PartType, { [name]: 7 })
      await expectHandling({ messages }, handling, `messages[].content[].${name}`)
    },
  )

  test('that names a file of the vendor is refused with a code of its own', async () => {
    const { status, error } = await send({ messages: withPart('file', { file: { file_id: 'f' } }) })
    expect([status, error]).toMatchObject([
      400,
      { param: 'messages[1].content[0].file.file_id', code: 'unsupported_value' },
    ])
  })
})

describe('a call of a history, and a tool', () => {
  test.each(rowsOf(CALLS))(
    'the call has a member that is handled as the table says: %s.%s',
    async (type, name, handling) => {
      const call = Reflect.get(calls, type)
      if (handling !== 'honoured')
        await expectHandling(
          { messages: withCall({ ...call, [name]: 7 }) },
          handling,
          `messages[].tool_calls[].${name}`,
        )
    },
  )

  test.each(rowsOf(TOOLS))(
    'the tool has a member that is handled as the table says: %s.%s',
    async (type, name, handling) => {
      const each = tools.find((tool) => tool.type === type)
      if (handling !== 'honoured')
        await expectHandling({ tools: [{ ...each, [name]: 7 }] }, handling, `tools[].${name}`)
    },
  )
})

describe('a member within another', () => {
  const schema = { name: 'answer', schema: { type: 'object' } }
  const bodies: Readonly<Record<keyof typeof PARTS, (more: object) => object>> = {
    'content[].image_url': (more) => {
      return { messages: withPart('image_url', { image_url: { ...PART_SAMPLES.image_url.image_url, ...more } }) }
    },
    'content[].file': (more) => ({ messages: withPart('file', { file: { ...PART_SAMPLES.file.file, ...more } }) }),
    'tool_calls[].function': (more) => {
      return { messages: withCall({ ...calls.function, ...{ function: { ...calls.function.function, ...more } } }) }
    },
    'tool_calls[].custom': (more) => {
      return { messages: withCall({ ...calls.custom, ...{ custom: { ...calls.custom.custom, ...more } } }) }
    },
    'tools[].function': (more) => ({ tools: [{ type: 'function', function: { ...look, ...more } }] }),
    'tools[].custom': (more) => ({ tools: [{ type: 'custom', custom: { name: 'sum', ...more } }] }),
    tool_choice: (more) => ({ tool_choice: { type: 'function', function: { name: 'look' }, ...more } }),
    stream_options: (more) => ({ stream_options: { include_usage: true, ...more } }),
    response_format: (more) => ({ response_format: { type: 'json_object', ...more } }),
    'response_format.json_schema': (more) => {
      return { response_format: { type: 'json_schema', json_schema: { ...schema, ...more } } }
    },
  }

  test.each(rowsOf(PARTS))('is handled as the table says: %s.%s', async (place, name, handling) => {
    if (handling === 'honoured') return
    const before = /^(?:content|tool_calls)/.test(place) ? 'messages[].' : ''
    const body = bodies[place as keyof typeof PARTS]({ [name]: 7 })
    await expectHandling(body, handling, `${before}${place}.${name}`)
  })

  test('is told of once, however often it is there', async () => {
    const messages = [{ ...user, name: 'one' }, ROLES.assistant, { ...user, name: 'two' }]
    expect(await send({ messages })).toMatchObject({ status: 200, ignored: 'messages[].name' })
  })
})
