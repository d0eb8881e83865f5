import { fieldsOf, objectsOf } from '../../fields.ts'
import { type Members, membersIn, membersOfType } from '../members.ts'

const MESSAGE = { role: 'honoured', content: 'honoured', name: 'ignored' } as const
const PART = { type: 'honoured', prompt_cache_breakpoint: 'ignored' } as const
/** `index`: that of a stream, which applications send back. */
const CALL = { id: 'honoured', type: 'honoured', index: 'honoured' } as const

/** What is done with each member of a message, by its role. A message of another role is refused. */
export const MESSAGE_MEMBERS = {
  developer: MESSAGE,
  system: MESSAGE,
  user: MESSAGE,
  assistant: {
    ...MESSAGE,
    refusal: 'honoured',
    reasoning_content: 'honoured',
    tool_calls: 'honoured',
    // Of an answer that is sent back, this says nothing to a model.
    annotations: 'honoured',
    audio: 'refused',
    function_call: 'refused',
  },
  tool: { ...MESSAGE, tool_call_id: 'honoured' },
  function: { role: 'refused', content: 'refused', name: 'refused' },
} as const satisfies Readonly<Record<string, Members>>

/** What is done with each member of a part of content, by its type. A part of another type is refused. */
export const CONTENT_MEMBERS = {
  text: { ...PART, text: 'honoured' },
  refusal: { type: 'honoured', refusal: 'honoured' },
  image_url: { ...PART, image_url: 'honoured' },
  file: { ...PART, file: 'honoured' },
  input_audio: { type: 'refused', input_audio: 'refused', prompt_cache_breakpoint: 'refused' },
} as const satisfies Readonly<Record<string, Members>>

/** The same of a call in a history, and of a tool, by their types. */
export const CALL_MEMBERS = {
  function: { ...CALL, function: 'honoured' },
  custom: { ...CALL, custom: 'honoured' },
} as const satisfies Readonly<Record<string, Members>>

export const TOOL_MEMBERS = {
  function: { type: 'honoured', function: 'honoured' },
  custom: { type: 'honoured', custom: 'honoured' },
} as const satisfies Readonly<Record<string, Members>>

/** What is done with each member within parts of content, calls, tools, and members of the request, by their places. */
export const CHAT_PARTS = {
  'content[].image_url': { url: 'honoured', detail: 'ignored' },
  'content[].file': { file_data: 'honoured', file_id: 'refused', filename: 'ignored' },
  'tool_calls[].function': { name: 'honoured', arguments: 'honoured' },
  'tool_calls[].custom': { name: 'honoured', input: 'honoured' },
  'tools[].function': { name: 'honoured', description: 'honoured', parameters: 'honoured', strict: 'honoured' },
  'tools[].custom': { name: 'honoured', description: 'honoured', format: 'honoured' },
  tool_choice: { type: 'honoured', function: 'honoured', custom: 'honoured', allowed_tools: 'honoured' },
  stream_options: { include_usage: 'honoured', include_obfuscation: 'ignored' },
  response_format: { type: 'honoured', json_schema: 'honoured' },
  'response_format.json_schema': { name: 'honoured', schema: 'honoured', strict: 'honoured', description: 'ignored' },
} as const satisfies Readonly<Record<string, Members>>

/** Returns what is ignored within the members of a request, each place once: that of a list without its index. */
export function ignoredInChat(body: unknown): readonly string[] {
  const places = new Set<string>()
  const add = (value: unknown, members: Members | undefined, place: string) => {
    for (const name of membersIn(value, members ?? {}, 'ignored')) places.add(`${place}.${name}`)
  }
  /** Adds what is ignored in objects of several types, and in the member that each has of the name of its type. */
  const addTyped = (values: unknown, types: Readonly<Record<string, Members>>, list: string, before = '') => {
    for (const value of objectsOf(values)) {
      const { type = 'function' } = value
      const place = `${before}${list}`
      add(value, membersOfType(types, type), place)
      const within = membersOfType(CHAT_PARTS, `${list}.${String(type)}`)
      if (within) add(value[String(type)], within, `${place}.${String(type)}`)
    }
  }
  const request = fieldsOf(body)
  for (const message of objectsOf(request['messages'])) {
    add(message, membersOfType(MESSAGE_MEMBERS, message['role']), 'messages[]')
    addTyped(message['content'], CONTENT_MEMBERS, 'content[]', 'messages[].')
    addTyped(message['tool_calls'], CALL_MEMBERS, 'tool_calls[]', 'messages[].')
  }
  addTyped(request['tools'], TOOL_MEMBERS, 'tools[]')
  for (const name of ['tool_choice', 'stream_options', 'response_format'] as const)
    add(request[name], CHAT_PARTS[name], name)
  add(
    fieldsOf(request['response_format'])['json_schema'],
    CHAT_PARTS['response_format.json_schema'],
    'response_format.json_schema',
  )
  return [...places]
}
