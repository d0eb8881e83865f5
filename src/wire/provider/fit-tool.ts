import { followRef, isObject, type JsonObject, type JsonSchema } from '../../contract/json.ts'
import { mendSchema } from '../../contract/mend-schema.ts'
import { mapSubschemas } from '../../contract/subschemas.ts'
import { describeTool, type ToolDefinition } from '../../contract/tool-definition.ts'
import type { ProviderDialect } from './dialects.ts'
import type { PropertyNames } from './property-names.ts'
import { narrow, sizeFault, UnsupportedSchema, withoutWords } from './strict-schema.ts'

/** A tool as a provider takes it. */
export interface FittedTool {
  /** The definition itself if the provider takes it as it is; undefined if it cannot take the tool at all. */
  readonly definition: ToolDefinition | undefined
  /** The names of properties that the model is told instead of the tool's own. Default: it is told those. */
  readonly names?: PropertyNames | undefined
  /** What of the definition could not be said to the model. */
  readonly losses: readonly string[]
}

const caches = new WeakMap<ProviderDialect, WeakMap<ToolDefinition, FittedTool>>()

/** Returns a tool as a provider takes it: the same object for the same definition, so that a codec can encode it once. */
export function fitTool(tool: ToolDefinition, dialect: ProviderDialect): FittedTool {
  const cache = caches.get(dialect) ?? new WeakMap<ToolDefinition, FittedTool>()
  caches.set(dialect, cache)
  let entry = cache.get(tool)
  if (!entry) cache.set(tool, (entry = fit(tool, dialect)))
  return entry
}

function fit(tool: ToolDefinition, dialect: ProviderDialect): FittedTool {
  try {
    return fitSchema(tool, dialect)
  } catch (error) {
    // Its schema is not what it should be in a way that nobody has thought of. Other tools must not suffer from it.
    return { definition: undefined, losses: [`the tool: ${error instanceof Error ? error.message : String(error)}`] }
  }
}

function fitSchema(tool: ToolDefinition, dialect: ProviderDialect): FittedTool {
  const { schema: sound, mends } = mendSchema(tool.inputSchema)
  const losses = mends.map(({ path, message }) => `${path}: ${message}`)
  const modern = atRoot(modernize(sound, losses))
  const names = dialect.keys?.rename(modern, dialect.keys)
  const renamed = names?.schema ?? modern
  const typed = renamed.type === 'object' ? renamed : { ...renamed, type: 'object' }
  const rooted = dialect.refusedAtTop.some((word) => word in typed) ? withoutWords(typed, dialect.refusedAtTop) : typed
  const strict = tool.strict === true ? enforced(tool.name, rooted, dialect, losses) : undefined
  const inputSchema = strict ?? complete(toKeywords(tool.name, rooted, dialect), dialect)
  const examples = names && tool.inputExamples?.map(names.toSent)
  const isSame = inputSchema === tool.inputSchema
  const definition: ToolDefinition = {
    ...tool,
    inputSchema,
    ...(examples && { inputExamples: examples }),
    ...(tool.strict === true && dialect.strict && !strict && { strict: false }),
  }
  const short = withShortDescription(definition, dialect)
  const isStrictAsSaid = definition.strict === tool.strict
  return { definition: isSame && short === definition && !examples && isStrictAsSaid ? tool : short, names, losses }
}

/** Returns the schema of a strict tool; undefined if the provider cannot enforce it. */
function enforced(
  name: string,
  schema: JsonSchema,
  dialect: ProviderDialect,
  losses: string[],
): JsonSchema | undefined {
  const { strict: rules } = dialect
  if (!rules) return undefined
  try {
    const strict = complete(narrow(schema, `"${name}"`, rules.keywords), dialect)
    const fault = sizeFault(strict, rules)
    if (fault === undefined) return strict
    losses.push(`strict: ${fault}`)
  } catch (error) {
    if (!(error instanceof UnsupportedSchema)) throw error
    losses.push(`strict: ${error.message}`)
  }
  return undefined
}

/** Returns a schema in the keywords of a provider. */
function toKeywords(name: string, schema: JsonSchema, { keywords, mostItems = Infinity }: ProviderDialect): JsonSchema {
  if (!keywords) return schema
  const isLong = sumOfItems(schema) > mostItems
  return narrow(isLong ? withoutItemBounds(schema) : schema, `"${name}"`, keywords)
}

function sumOfItems(schema: JsonObject): number {
  let sum = typeof schema.maxItems === 'number' ? schema.maxItems : 0
  mapSubschemas(schema, (inner) => {
    if (isObject(inner)) sum += sumOfItems(inner)
    return inner
  })
  return sum
}

function withoutItemBounds(schema: JsonObject): JsonObject {
  const own = 'maxItems' in schema ? withoutWords(schema, ['maxItems']) : schema
  return mapSubschemas(own, (inner) => (isObject(inner) ? withoutItemBounds(inner) : inner))
}

/** Adds what providers miss: `items` of any type to lists, and `properties` where their names are required. */
function complete(schema: JsonObject, dialect: Pick<ProviderDialect, 'needsProperties'>): JsonObject {
  const finish = (part: JsonObject, isRoot: boolean): JsonObject => {
    const own = mapSubschemas(part, (inner) => (isObject(inner) ? finish(inner, false) : inner))
    const isList = [own.type].flat().includes('array') && own.items === undefined
    const lacksProperties = dialect.needsProperties && (isRoot || 'required' in own) && own.properties === undefined
    if (!isList && !lacksProperties) return own
    return { ...(lacksProperties && { properties: {} }), ...(isList && { items: {} }), ...own }
  }
  return finish(schema, true)
}

/** Moves what a description has too much to that of the arguments, which no provider limits. */
function withShortDescription(tool: ToolDefinition, { mostDescription = Infinity }: ProviderDialect): ToolDefinition {
  const text = describeTool(tool)
  if (text.length <= mostDescription) return tool
  const cutAt = Math.max(text.lastIndexOf('\n', mostDescription - 1), text.lastIndexOf(' ', mostDescription - 1))
  const at = cutAt > mostDescription / 2 ? cutAt : mostDescription - 1
  const { inputExamples: _, inputSchema, ...rest } = tool
  const more = [text.slice(at).trim().toWellFormed(), inputSchema['description']].filter(Boolean).join('\n')
  return {
    ...rest,
    description: `${text.slice(0, at).trimEnd().toWellFormed()}…`,
    inputSchema: { ...inputSchema, description: `… ${more}` },
  }
}

/** Puts the target of a reference at the root in its place: providers want the properties there. */
function atRoot(schema: JsonSchema): JsonSchema {
  let root = schema
  for (let hops = 0; hops < MOST_HOPS; hops++) {
    const { $ref, ...own } = root
    if (typeof $ref !== 'string') break
    const target = followRef(schema, $ref)
    root = { ...(isObject(target) && target !== schema ? target : {}), ...own }
  }
  return root
}

const MOST_HOPS = 20

/**
 * Converts what older drafts of JSON Schema, and OpenAPI 3.0, write otherwise to 2020-12, by which providers read schemas:
 * lists of `items`, and exclusive bounds that are true or false. A reference that leads out of the schema is left out.
 */
function modernize(schema: JsonSchema, losses: string[]): JsonSchema {
  const convert = (part: unknown): unknown => {
    if (!isObject(part)) return part
    return withBounds(withPrefixItems(withoutForeign(mapSubschemas(part, convert), losses)))
  }
  const converted = convert(schema)
  if (!isObject(converted) || converted === schema) return schema
  // It would be read as the draft that it names.
  const { $schema: _, ...rest } = converted
  return rest
}

function withoutForeign(schema: JsonObject, losses: string[]): JsonObject {
  const { $ref, ...rest } = schema
  if (typeof $ref !== 'string' || $ref.startsWith('#')) return schema
  losses.push(`$ref: "${$ref}" is not a part of the schema`)
  return rest
}

function withPrefixItems(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema
  if (!Array.isArray(items)) return schema
  return {
    ...rest,
    ...(items.length > 0 && { prefixItems: items }),
    ...(additionalItems !== undefined && { items: additionalItems }),
  }
}

function withBounds(schema: JsonObject): JsonObject {
  const bounds = { exclusiveMinimum: 'minimum', exclusiveMaximum: 'maximum' }
  const flags = Object.entries(bounds).filter(([exclusive]) => typeof schema[exclusive] === 'boolean')
  if (flags.length === 0) return schema
  const result: Record<string, unknown> = { ...schema }
  for (const [exclusive, inclusive] of flags) {
    delete result[exclusive]
    if (schema[exclusive] !== true || typeof schema[inclusive] !== 'number') continue
    delete result[inclusive]
    result[exclusive] = schema[inclusive]
  }
  return result
}
