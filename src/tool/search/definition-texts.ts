import { isObject } from '../../contract/json.ts'
import type { ToolText } from '../../contract/tool.ts'

export interface DefinitionTexts {
  readonly title: readonly string[]
  readonly tags: readonly string[]
  readonly description: readonly string[]
  /** Names, descriptions and string values of the parameters, nested ones too. */
  readonly parameters: readonly string[]
}

/** What a tool can be found by, beside its name. */
export function textsOf({ title, tags = [], description, inputSchema, parameters }: ToolText): DefinitionTexts {
  const texts: string[] = []
  if (!parameters) collect(inputSchema, texts, 0)
  return {
    title: title === undefined ? [] : [title],
    tags,
    description: [description],
    parameters: parameters ?? texts,
  }
}

const LEVELS = 6
const MOST_TEXTS = 400

function collect(schema: unknown, into: string[], level: number): void {
  if (!isObject(schema) || level > LEVELS || into.length > MOST_TEXTS) return
  const add = (text: unknown) => typeof text === 'string' && into.push(text)
  if (level > 0) add(schema['description'])
  add(schema['const'])
  if (Array.isArray(schema['enum'])) schema['enum'].forEach(add)
  const { properties } = schema
  if (isObject(properties)) {
    for (const [name, child] of Object.entries(properties)) {
      into.push(name)
      collect(child, into, level + 1)
    }
  }
  for (const key of ['items', 'additionalProperties']) collect(schema[key], into, level + 1)
  for (const key of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    const branches = schema[key]
    if (Array.isArray(branches)) for (const branch of branches) collect(branch, into, level + 1)
  }
}
