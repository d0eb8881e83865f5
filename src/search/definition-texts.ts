import { isObject } from '../contract/json.ts'
import type { ToolText } from '../contract/tool.ts'

export interface DefinitionTexts {
  readonly title: readonly string[]
  readonly tags: readonly string[]
  readonly group: readonly string[]
  readonly description: readonly string[]
  /** Names, descriptions and string values of the parameters, nested ones too. */
  readonly parameters: readonly string[]
}

/** Returns the texts by which a tool can be found, beside its name. */
export function textsOf({ title, tags = [], description, inputSchema, parameters, group }: ToolText): DefinitionTexts {
  const texts: string[] = []
  if (!parameters) collect(inputSchema, texts, 0)
  return {
    title: title === undefined ? [] : [title],
    tags,
    group: group === undefined ? [] : [group],
    description: [description],
    parameters: parameters ?? texts,
  }
}

const LEVELS = 6
const MOST_TEXTS = 400

const ONE = ['items', 'additionalProperties']
const SEVERAL = ['anyOf', 'oneOf', 'allOf', 'prefixItems']

function collect(schema: unknown, into: string[], level: number): void {
  if (!isObject(schema) || level > LEVELS || into.length > MOST_TEXTS) return
  const { description, const: only, enum: values, properties } = schema
  if (level > 0 && typeof description === 'string') into.push(description)
  if (typeof only === 'string') into.push(only)
  if (Array.isArray(values)) for (const value of values) if (typeof value === 'string') into.push(value)
  if (isObject(properties)) {
    for (const name of Object.keys(properties)) {
      into.push(name)
      collect(properties[name], into, level + 1)
    }
  }
  for (const key of ONE) collect(schema[key], into, level + 1)
  for (const key of SEVERAL) {
    const branches = schema[key]
    if (Array.isArray(branches)) for (const branch of branches) collect(branch, into, level + 1)
  }
}
