import { isObject } from '../../contract/json.ts'
import type { ListedTool } from '../listing.ts'

const TIME = 'What time is it in Tokyo?'

/** A question to show how an edge answers. */
export interface ExampleQuestion {
  readonly text: string
  /** Whether the tool that answers it has no effects, so that it can be asked without being told to. */
  readonly isFree: boolean
}

/**
 * Returns a question that the tools of an edge can answer: the time if a tool tells it, else what the first tool is for,
 * with an example for each argument that it requires.
 */
export function exampleQuestion(tools: readonly ListedTool[]): ExampleQuestion {
  const available = tools.filter((tool) => tool.available)
  if (available.some(({ name }) => /time/i.test(name))) return { text: TIME, isFree: true }
  const [first] = available
  if (!first) return { text: 'What can you do?', isFree: false }
  const { name, inputSchema, annotations } = first
  const { properties, required } = isObject(inputSchema) ? inputSchema : {}
  const schemas = isObject(properties) ? properties : {}
  const parts = (Array.isArray(required) ? required : []).map((each) => {
    const schema = schemas[String(each)]
    return `${wordsOf(String(each))} ${exampleValue(isObject(schema) ? schema : {})}`
  })
  const words = wordsOf(name)
  const text = `${words.slice(0, 1).toUpperCase()}${words.slice(1)}${parts.length > 0 ? ` with ${parts.join(' and ')}` : ''}`
  return { text, isFree: annotations?.readOnly === true }
}

function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .toLowerCase()
    .trim()
}

/** Returns an example that the schema names, or else any value of its type. */
function exampleValue({ examples, enum: values, description, type }: Readonly<Record<string, unknown>>): string {
  for (const list of [examples, values]) if (Array.isArray(list) && list.length > 0) return String(list[0])
  const text = typeof description === 'string' ? description : ''
  const [, inQuotes, word] = /\bsuch as (?:"([^"]+)"|([^\s,;.)"]+))/.exec(text) ?? []
  const example = inQuotes ?? word
  if (example !== undefined) return example
  if (type === 'number' || type === 'integer') return '2'
  return type === 'boolean' ? 'true' : 'example'
}
