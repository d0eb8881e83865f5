import * as v from 'valibot'
import { isObject, type JsonObject, type JsonSchema } from '../../../contract/json.ts'
import type { ClientTool } from '../../../contract/run.ts'
import { isText, toolName } from '../../schema.ts'
import { optionalFlag } from '../openai-chat/request.ts'

/*
 * Tools that Anthropic defines and the caller runs. Its models know them by their types. For any other model, a function
 * stands for each, with the arguments that Anthropic documents.
 */

const TYPE = /^(bash|text_editor|memory|computer)_(\d{8})$/

/** Whether a value declares such a tool. */
export function isTypedTool(value: unknown): boolean {
  return isObject(value) && isText(value['type']) && TYPE.test(value['type'])
}

const text = { type: 'string' }
const integer = { type: 'integer' }
const point = { type: 'array', items: integer, minItems: 2, maxItems: 2, description: 'x and y, in pixels.' }
const file = {
  path: text,
  view_range: { type: 'array', items: integer, description: 'For view: the first and the last line; -1 is the end.' },
  file_text: { ...text, description: 'For create.' },
  old_str: { ...text, description: 'For str_replace: what occurs once in the file.' },
  new_str: { ...text, description: 'For str_replace: what takes its place.' },
  insert_line: { ...integer, description: 'For insert: the line after which the text comes; 0 is the beginning.' },
  insert_text: { ...text, description: 'For insert.' },
}
const COMMANDS = ['view', 'create', 'str_replace', 'insert']
const ACTIONS = [
  ...['screenshot', 'cursor_position', 'mouse_move', 'left_click', 'right_click', 'middle_click', 'double_click'],
  ...[
    'triple_click',
    'left_click_drag',
    'left_mouse_down',
    'left_mouse_up',
    'scroll',
    'type',
    'key',
    'hold_key',
    'wait',
  ],
]

function choiceOf(values: readonly string[]): JsonObject {
  return { ...text, enum: values }
}

/** Describes the function that stands for a tool of a type. */
function describe(
  kind: string,
  date: string,
  { display_width_px: width, display_height_px: height, enable_zoom: hasZoom }: JsonObject,
): readonly [description: string, properties: JsonSchema, required: readonly string[]] {
  switch (kind) {
    case 'bash': {
      const restart = { type: 'boolean', description: 'Begins a new session.' }
      return ['Runs a command in a bash session of the user, which lasts.', { command: text, restart }, []]
    }
    case 'text_editor': {
      const commands = date < '20250429' ? [...COMMANDS, 'undo_edit'] : COMMANDS
      return [
        'Views, creates and edits files of the user.',
        { command: choiceOf(commands), ...file },
        ['command', 'path'],
      ]
    }
    case 'memory': {
      const properties = {
        command: choiceOf([...COMMANDS, 'delete', 'rename']),
        ...file,
        old_path: text,
        new_path: text,
      }
      return ['Keeps notes between conversations, in files below /memories.', properties, ['command']]
    }
    default: {
      const properties = {
        action: choiceOf(hasZoom === true ? [...ACTIONS, 'zoom'] : ACTIONS),
        coordinate: point,
        start_coordinate: point,
        text: { ...text, description: 'What is typed, or the keys, such as ctrl+s.' },
        scroll_direction: choiceOf(['up', 'down', 'left', 'right']),
        scroll_amount: integer,
        duration: { type: 'number', description: 'In seconds.' },
        ...(hasZoom === true && { region: { type: 'array', items: integer, description: 'x1, y1, x2, y2.' } }),
      }
      const screen = `${JSON.stringify(width)} by ${JSON.stringify(height)} pixels`
      return [`Uses the computer of the user by its screen of ${screen}, mouse and keyboard.`, properties, ['action']]
    }
  }
}

/** Such a tool, with its form for models of Anthropic. The edge marks prompts and defers definitions itself. */
export const typedTool = v.pipe(
  v.looseObject({ type: v.string(), name: toolName, defer_loading: optionalFlag }),
  v.transform(({ defer_loading, cache_control: _mark, allowed_callers: _callers, ...members }): ClientTool => {
    const [, kind = '', date = ''] = TYPE.exec(members.type) ?? []
    const form = Object.fromEntries(Object.entries(members).filter(([, value]) => value != null))
    const [description, properties, required] = describe(kind, date, form)
    return {
      name: members.name,
      description,
      inputSchema: { type: 'object', properties, required },
      forms: { anthropic: form },
      ...(defer_loading && { deferred: defer_loading }),
    }
  }),
)
