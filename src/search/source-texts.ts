import { isObject } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { Tool, ToolSource, ToolText } from '../contract/tool.ts'

/**
 * Returns a function that reads the search texts of a source, or its definitions if it has no `texts`. While nothing
 * changes, it returns the same array.
 */
export function textReader(source: ToolSource): () => Promise<readonly ToolText[]> {
  let last: readonly ToolText[] = []
  return async () => {
    const texts = source.texts ? await source.texts() : (await source.list()).tools.map(toolText)
    return (last = sameOr(last, texts))
  }
}

/** Caches the texts of definitions, so that an unchanged definition has the same text. */
const textByDefinition = new WeakMap<ToolDefinition, ToolText>()

/** Returns the search text of a tool: its definition, and the name of its server or Worker. */
function toolText({ definition, place }: Tool): ToolText {
  let text = textByDefinition.get(definition)
  if (!text) textByDefinition.set(definition, (text = { ...definition, group: groupOf(definition, place) }))
  return text
}

/** Returns the server that an MCP tool names in its metadata, else the name of its binding without `TOOL_`. */
function groupOf({ metadata }: ToolDefinition, place: string): string {
  const server = metadata?.['server']
  return typeof server === 'string' ? server : place.replace(/^TOOL_/, '').toLowerCase()
}

/** Returns the first of two lists if the second holds the same items, else the second. */
export function sameOr<Item>(before: readonly Item[], now: readonly Item[]): readonly Item[] {
  if (before === now) return before
  return before.length === now.length && now.every((item, index) => item === before[index]) ? before : now
}

/** Returns about how many tools a source has. */
export async function toolCountOf(source: ToolSource): Promise<number> {
  return source.size ? source.size() : (await source.list()).tools.length
}

interface DefinitionTexts {
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
