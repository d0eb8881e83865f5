import { isObject, type JsonSchema } from '../contract/json.ts'
import type { Tool, ToolContext, ToolDefinition, ToolOutcome, ToolSource, Unavailable } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { type Arguments, argumentsOf, type Parsed } from './arguments.ts'
import { coerce } from '../schema/coerce.ts'
import { type DefinedTool, definitionHash, describer } from './define.ts'
import { describeIssues } from '../schema/issue.ts'
import { cannotUndo, changed } from './pinned-tools.ts'
import { rebase } from '../schema/rebase-refs.ts'
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

export interface AugmentEvent<Fields> {
  /** The definition that the model was given, with the added fields. */
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
  const { name, outline, status, undo } = tool
  const augmented = { ...outline, inputSchema: merge(name, outline.inputSchema, extra.schema) }
  const describe = describer(augmented)
  const own = (sent: unknown) => withoutFields(extra, sent)
  return {
    name,
    outline: augmented,
    describe,
    call: async (sent, context) =>
      perform(extra, { sent, context, definition: await describe() }, (input) => tool.call(input, context)),
    ...(status && { status: (sent, context) => status(own(sent), context) }),
    ...(undo && { undo: (sent, outcome, context) => undo(own(sent), outcome, context) }),
  }
}

function augmentSource<Fields extends object>(source: ToolSource, extra: Extra<Fields>): ToolSource {
  /** Augmented definitions by the original. Values, never promises: a promise belongs to the request that made it. */
  const known = new WeakMap<ToolDefinition, ToolDefinition>()
  const define = async (inner: ToolDefinition): Promise<ToolDefinition> => {
    const augmented = { ...inner, inputSchema: merge(inner.name, inner.inputSchema, extra.schema) }
    const definition = known.get(inner) ?? { ...augmented, hash: await definitionHash(augmented) }
    known.set(inner, definition)
    return definition
  }
  const all = async (tools: readonly Tool[]) => {
    const clashes: Unavailable[] = []
    const made = await Promise.all(
      tools.map(async (tool) => {
        try {
          return [wrap(tool, await define(tool.definition), extra)]
        } catch (error) {
          const { origin, place, definition } = tool
          clashes.push({ origin, place, reason: messageOf(error), name: definition.name })
          return []
        }
      }),
    )
    return { tools: made.flat(), unavailable: clashes }
  }
  return {
    list: async () => {
      const listing = await source.list()
      const { tools, unavailable } = await all(listing.tools)
      return { tools, unavailable: [...listing.unavailable, ...unavailable] }
    },
    offered: async () => (await all(await source.offered())).tools,
    find: async (names) => (await all(await source.find(names))).tools,
  }
}

function wrap<Fields extends object>(tool: Tool, definition: ToolDefinition, extra: Extra<Fields>): Tool {
  const { hash } = tool.definition
  /** Returns the request as the wrapped tool expects it: with its own hash, and without the fields (unless `keep`). */
  const inner = (request: Parameters<Tool['call']>[0], input = withoutFields(extra, request.arguments)) => ({
    ...request,
    arguments: isObject(input) ? input : {},
    hash,
  })
  return {
    ...tool,
    definition,
    call: async (request, control) => {
      if (request.hash !== definition.hash) return changed(definition.name)
      const sent = request.arguments
      const about = { sent, context: request.context, definition }
      return perform(extra, about, (input) => tool.call(inner(request, input), control))
    },
    ...(tool.status && { status: async (request) => (await tool.status?.(inner(request))) ?? 'unknown' }),
    ...(tool.undo && {
      undo: async (request, outcome) => (await tool.undo?.(inner(request), outcome)) ?? cannotUndo(definition.name),
    }),
  }
}

interface About {
  readonly sent: unknown
  readonly context: AugmentEvent<unknown>['context']
  readonly definition: ToolDefinition
}

/** Parses the fields, passes them to `read`, and calls the wrapped tool with its own arguments. */
async function perform<Fields extends object>(
  extra: Extra<Fields>,
  { sent, context, definition }: About,
  call: (input: unknown) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { report = (error: unknown) => console.error(`augment: "${definition.name}"`, error) } = extra
  const tell = async (fields: Fields): Promise<void> => {
    try {
      const { callId, runId, conversationId, caller, values } = context
      const about = { callId, runId, ...(conversationId !== undefined && { conversationId }), caller, values }
      await extra.read({ definition, rawInput: sent, fields, context: about })
    } catch (error) {
      report(error)
    }
  }
  let given = sent
  let parsed = await parseFields(extra, given)
  if (!parsed.ok) {
    // The fields may be misplaced, such as inside a surplus key; coercing by the whole schema finds them there.
    given = coerce(definition.inputSchema, sent)
    parsed = await parseFields(extra, given)
  }
  if (!parsed.ok) return failure('invalid_arguments', describeIssues(definition.name, parsed.issues))
  const [, outcome] = await Promise.all([tell(parsed.value), call(withoutFields(extra, given))])
  return outcome
}

async function parseFields<Fields extends object>(extra: Extra<Fields>, sent: unknown): Promise<Parsed<Fields>> {
  const entries = Object.entries(isObject(sent) ? sent : {})
  try {
    return await extra.parse(Object.fromEntries(entries.filter(([key]) => isField(extra, key))))
  } catch (error) {
    return { ok: false, issues: [{ path: '', message: messageOf(error) }] }
  }
}

function isField({ schema }: Arguments<unknown>, key: string): boolean {
  return Object.hasOwn(Object(schema['properties']), key)
}

function withoutFields<Fields extends object>(extra: Extra<Fields>, sent: unknown): unknown {
  if (extra.keep || !isObject(sent)) return sent
  return Object.fromEntries(Object.entries(sent).filter(([key]) => !isField(extra, key)))
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
