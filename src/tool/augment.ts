import { isObject, type JsonSchema } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { Tool, ToolContext, ToolOutcome, ToolSource, Unavailable } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { type Arguments, argumentsOf, type ParseResult } from './arguments.ts'
import { coerce } from '../schema/coerce.ts'
import { type DefinedTool, definitionHash, describer } from './define.ts'
import { describeIssues } from '../schema/issue.ts'
import { cannotUndo, toolChanged } from './pinned-tools.ts'
import { rebase } from '../schema/document.ts'
import type { InputSchema } from '../schema/standard-schema.ts'
import { messageOf } from '../contract/thrown.ts'

/** Fields that a model fills in beside a tool's own arguments, such as its reasons, and a function that reads them. */
export interface Augmentation<Fields extends object> {
  /** The schema of an object with the fields. The model must send those that it requires. */
  readonly fields: InputSchema<Fields>
  /**
   * Gets the fields of each call whose fields are valid. It starts before the tool does, and the call waits for both.
   * An error that it throws goes to `report`, and fails no call.
   */
  readonly read: (event: AugmentEvent<Fields>) => void | Promise<void>
  /** Whether the tool gets the fields too. Default: they are taken out. */
  readonly keep?: boolean
  /** Gets the error that `read` throws. Default: logs it. */
  readonly report?: (error: unknown) => void
}

/** The added fields of one call, with its context. */
export interface AugmentEvent<Fields> {
  /** The definition that the model received, with the added fields. */
  readonly definition: ToolDefinition
  /** The arguments as they were sent. */
  readonly rawInput: unknown
  readonly fields: Fields
  readonly context: Pick<ToolContext, 'callId' | 'runId' | 'conversationId' | 'caller' | 'values'>
}

/**
 * Adds fields to the arguments of a tool, of several tools, or of all tools of a source. All else stays, such as
 * annotations, return direct, status and undo; the new definition has its own hash. If a tool has such a field already,
 * throws a TypeError that names both; a source lists the tool as unavailable for that reason instead.
 *
 * @example
 * augment(tool, { fields: v.object({ reason: v.string() }), read: ({ fields }) => console.log(fields.reason) })
 */
export function augment<Env, Fields extends object>(
  tool: DefinedTool<Env>,
  augmentation: Augmentation<Fields>,
): DefinedTool<Env>
export function augment<Env, Fields extends object>(
  tools: readonly DefinedTool<Env>[],
  augmentation: Augmentation<Fields>,
): DefinedTool<Env>[]
export function augment<Fields extends object>(source: ToolSource, augmentation: Augmentation<Fields>): ToolSource
export function augment<Env, Fields extends object>(
  target: DefinedTool<Env> | readonly DefinedTool<Env>[] | ToolSource,
  augmentation: Augmentation<Fields>,
): DefinedTool<Env> | DefinedTool<Env>[] | ToolSource {
  const extra = { ...augmentation, ...argumentsOf(augmentation.fields, 'augment: fields') }
  if ('list' in target) return augmentSource(target, extra)
  return 'call' in target ? augmentTool(target, extra) : target.map((tool) => augmentTool(tool, extra))
}

type Extra<Fields extends object> = Augmentation<Fields> & Arguments<Fields>

function augmentTool<Env, Fields extends object>(tool: DefinedTool<Env>, extra: Extra<Fields>): DefinedTool<Env> {
  const { name, outline, status, undo, poll } = tool
  const augmented = { ...outline, inputSchema: merge(name, outline.inputSchema, extra.schema) }
  const describe = describer(augmented)
  const ownInput = (input: unknown) => withoutFields(extra, input)
  return {
    name,
    outline: augmented,
    describe,
    call: async (input, context) =>
      callWithFields(extra, { input, context, definition: await describe() }, (input) => tool.call(input, context)),
    ...(status && { status: (input, context) => status(ownInput(input), context) }),
    ...(undo && { undo: (input, outcome, context) => undo(ownInput(input), outcome, context) }),
    ...(poll && { poll: (input, state, context) => poll(ownInput(input), state, context) }),
  }
}

function augmentSource<Fields extends object>(source: ToolSource, extra: Extra<Fields>): ToolSource {
  /** Augmented definitions by the original. Values, never promises: a promise belongs to the request that made it. */
  const augmentedDefinitions = new WeakMap<ToolDefinition, ToolDefinition>()
  const define = async (inner: ToolDefinition): Promise<ToolDefinition> => {
    const augmented = { ...inner, inputSchema: merge(inner.name, inner.inputSchema, extra.schema) }
    const definition = augmentedDefinitions.get(inner) ?? { ...augmented, hash: await definitionHash(augmented) }
    augmentedDefinitions.set(inner, definition)
    return definition
  }
  const augmentAll = async (tools: readonly Tool[]) => {
    const conflicts: Unavailable[] = []
    const augmentedTools = await Promise.all(
      tools.map(async (tool) => {
        try {
          return [wrap(tool, await define(tool.definition), extra)]
        } catch (error) {
          const { origin, place, definition } = tool
          conflicts.push({ origin, place, reason: messageOf(error), name: definition.name })
          return []
        }
      }),
    )
    return { tools: augmentedTools.flat(), unavailable: conflicts }
  }
  return {
    list: async () => {
      const listing = await source.list()
      const { tools, unavailable } = await augmentAll(listing.tools)
      return { tools, unavailable: [...listing.unavailable, ...unavailable] }
    },
    offered: async () => (await augmentAll(await source.offered())).tools,
    find: async (names) => (await augmentAll(await source.find(names))).tools,
  }
}

function wrap<Fields extends object>(tool: Tool, definition: ToolDefinition, extra: Extra<Fields>): Tool {
  const { hash } = tool.definition
  /** Returns the request as the wrapped tool expects it: with its own hash, and without the fields (unless `keep`). */
  const innerRequest = (request: Parameters<Tool['call']>[0], input = withoutFields(extra, request.arguments)) => ({
    ...request,
    arguments: isObject(input) ? input : {},
    hash,
  })
  return {
    ...tool,
    definition,
    call: async (request, control) => {
      if (request.hash !== definition.hash) return toolChanged(definition.name)
      const input = request.arguments
      const augmentedCall = { input, context: request.context, definition }
      return callWithFields(extra, augmentedCall, (ownInput) => tool.call(innerRequest(request, ownInput), control))
    },
    ...(tool.status && { status: async (request) => (await tool.status?.(innerRequest(request))) ?? 'unknown' }),
    ...(tool.undo && {
      undo: async (request, outcome) =>
        (await tool.undo?.(innerRequest(request), outcome)) ?? cannotUndo(definition.name),
    }),
    ...(tool.poll && {
      poll: async (request, state) => (await tool.poll?.(innerRequest(request), state)) ?? toolChanged(definition.name),
    }),
  }
}

interface AugmentedCall {
  readonly input: unknown
  readonly context: AugmentEvent<unknown>['context']
  readonly definition: ToolDefinition
}

/** Parses the fields, passes them to `read`, and calls the wrapped tool with its own arguments. */
async function callWithFields<Fields extends object>(
  extra: Extra<Fields>,
  { input, context, definition }: AugmentedCall,
  call: (input: unknown) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { report = (error: unknown) => console.error(`augment: "${definition.name}"`, error) } = extra
  const readFields = async (fields: Fields): Promise<void> => {
    try {
      const { callId, runId, conversationId, caller, values } = context
      const eventContext = { callId, runId, conversationId, caller, values }
      await extra.read({ definition, rawInput: input, fields, context: eventContext })
    } catch (error) {
      report(error)
    }
  }
  let coercedInput = input
  let parsed = await parseFields(extra, coercedInput)
  if (!parsed.ok) {
    // The fields may be misplaced, such as inside a surplus key; coercing by the whole schema finds them there.
    coercedInput = coerce(definition.inputSchema, input)
    parsed = await parseFields(extra, coercedInput)
  }
  if (!parsed.ok) return failure('invalid_arguments', describeIssues(definition.name, parsed.issues))
  const [, outcome] = await Promise.all([readFields(parsed.value), call(withoutFields(extra, coercedInput))])
  return outcome
}

async function parseFields<Fields extends object>(extra: Extra<Fields>, input: unknown): Promise<ParseResult<Fields>> {
  const entries = Object.entries(isObject(input) ? input : {})
  try {
    return await extra.parse(Object.fromEntries(entries.filter(([key]) => isField(extra, key))))
  } catch (error) {
    return { ok: false, issues: [{ path: '', message: messageOf(error) }] }
  }
}

function isField({ schema }: Arguments<unknown>, key: string): boolean {
  return Object.hasOwn(Object(schema['properties']), key)
}

function withoutFields<Fields extends object>(extra: Extra<Fields>, input: unknown): unknown {
  if (extra.keep || !isObject(input)) return input
  return Object.fromEntries(Object.entries(input).filter(([key]) => !isField(extra, key)))
}

function merge(tool: string, inner: JsonSchema, fields: JsonSchema): JsonSchema {
  const own = { ...Object(inner['properties']) }
  for (const key of Object.keys(Object(fields['properties']))) {
    if (Object.hasOwn(own, key)) throw new TypeError(`augment: the tool "${tool}" has a field "${key}" of its own`)
  }
  const defs = { ...Object(inner['$defs']) }
  let prefix = 'field'
  while (Object.keys(defs).some((key) => key.startsWith(prefix))) prefix += '_'
  const { properties, required, $defs } = rebase(fields, '#/$defs/', `#/$defs/${prefix}`)
  for (const [key, schema] of Object.entries(Object(isObject($defs) ? $defs : {}))) defs[prefix + key] = schema
  return {
    ...inner,
    properties: { ...own, ...Object(properties) },
    required: [inner['required'] ?? [], required ?? []].flat(),
    ...(Object.keys(defs).length > 0 && { $defs: defs }),
  }
}
