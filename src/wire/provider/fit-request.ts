import type { AssistantMessage, Message, ToolMessage } from '../../contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../contract/model.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { ProviderDialect } from './dialects.ts'
import { fitTool } from './fit-tool.ts'
import type { PropertyNames } from './property-names.ts'

/** A request as a provider takes it, and the way back for the answer. */
export interface FittedRequest {
  readonly request: ModelRequest
  /** Returns the events of an answer with the tools' own names of tools and properties. */
  readonly answer: (events: AsyncIterable<ModelEvent>) => AsyncIterable<ModelEvent>
}

/** What the model is told of a tool under another name. */
interface OtherNames {
  readonly tool: string
  readonly properties: PropertyNames | undefined
}

/** The tools of a request as a provider takes them. */
interface FittedTools {
  readonly tools: readonly ToolDefinition[]
  /** By the tools' own names, those of which the model is told other names. */
  readonly renamed: ReadonlyMap<string, OtherNames>
  /** By the tools' own names, what the model is not told of each. */
  readonly losses: ReadonlyMap<string, readonly string[]>
  readonly messages: WeakMap<Message, Message>
}

/**
 * Makes a request as a provider takes it. Its tools are as `dialect` says, under names that the provider accepts, as are
 * their properties. The calls in its messages have the same names, and so have the messages of calls that failed: a model
 * corrects what it has been told. What could not be said is reported, once for each definition in an isolate.
 */
export function fitRequest(request: ModelRequest, dialect: ProviderDialect): FittedRequest {
  const { tools, toolChoice, messages, reportTool } = request
  const chosen = typeof toolChoice === 'object' ? toolChoice.tool : undefined
  const fittedTools = fitTools(tools, dialect, chosen)
  for (const [tool, losses] of fittedTools.losses) report(dialect, tool, losses, reportTool)
  const { renamed } = fittedTools
  if (renamed.size === 0)
    return { request: fittedTools.tools === tools ? request : { ...request, tools: fittedTools.tools }, answer: same }
  return {
    request: {
      ...request,
      tools: fittedTools.tools,
      messages: messages.map((message) => renameMessage(message, fittedTools)),
      ...(chosen !== undefined && { toolChoice: { tool: renamed.get(chosen)?.tool ?? chosen } }),
    },
    answer: (events) => withOwnNames(events, renamed),
  }
}

function same(events: AsyncIterable<ModelEvent>): AsyncIterable<ModelEvent> {
  return events
}

const fittedLists = new WeakMap<ProviderDialect, WeakMap<readonly ToolDefinition[], FittedTools>>()

/** Returns the fitted tools; as long as they are the same list, so is the result. */
function fitTools(tools: readonly ToolDefinition[], dialect: ProviderDialect, chosen: string | undefined): FittedTools {
  const cache = fittedLists.get(dialect) ?? new WeakMap<readonly ToolDefinition[], FittedTools>()
  fittedLists.set(dialect, cache)
  // Which tools are left out of a list that is too long depends on the choice.
  const mayKeep = tools.length <= (dialect.mostTools ?? Infinity) || chosen === undefined
  const entry = (mayKeep ? cache.get(tools) : undefined) ?? makeTools(tools, dialect, chosen)
  if (mayKeep) cache.set(tools, entry)
  return entry
}

function makeTools(all: readonly ToolDefinition[], dialect: ProviderDialect, chosen: string | undefined): FittedTools {
  const { mostTools = Infinity, toolNames } = dialect
  const losses = new Map<string, readonly string[]>()
  const renamed = new Map<string, OtherNames>()
  const usedNames = new Set(all.map(({ name }) => name))
  const tools: ToolDefinition[] = []
  const first = all.filter(({ name }) => name === chosen)
  const offer = new Set([...new Set([...first, ...all])].slice(0, mostTools))
  for (const tool of all) {
    const { definition, names, losses: own } = fitTool(tool, dialect)
    const isKept = offer.has(tool)
    const reasons = isKept ? own : [`the tool: a request may have at most ${mostTools}`]
    if (reasons.length > 0) losses.set(tool.name, reasons)
    if (!isKept || !definition) continue
    const name = toolNames?.test(tool.name) === false ? otherName(tool.name, usedNames) : tool.name
    if (names || name !== tool.name) renamed.set(tool.name, { tool: name, properties: names })
    tools.push(name === tool.name ? definition : { ...definition, name })
  }
  const isSame = tools.length === all.length && tools.every((tool, index) => tool === all[index])
  return { tools: isSame ? all : tools, renamed, losses, messages: new WeakMap() }
}

/** A name that begins with a digit or a hyphen gets a `_` before it. */
function otherName(name: string, usedNames: Set<string>): string {
  let other = `_${name}`.slice(0, 64)
  while (usedNames.has(other)) other = `_${other}`.slice(0, 64)
  usedNames.add(other)
  return other
}

const reported = new Set<string>()
const MOST_REPORTED = 1000

function report(
  { provider }: ProviderDialect,
  tool: string,
  losses: readonly string[],
  reportTool: ModelRequest['reportTool'],
): void {
  const key = JSON.stringify([provider, tool, losses])
  if (!reportTool || reported.has(key)) return
  if (reported.size >= MOST_REPORTED) reported.clear()
  reported.add(key)
  reportTool(tool, losses)
}

/** Returns the same object for the same message and tools each time, so that a codec can encode it once. */
function renameMessage(message: Message, { renamed, messages }: FittedTools): Message {
  const isConcerned =
    message.role === 'assistant'
      ? message.calls?.some(({ tool }) => renamed.has(tool))
      : message.role === 'tool' && renamed.has(message.tool)
  if (!isConcerned) return message
  let result = messages.get(message)
  if (!result) {
    result = message.role === 'assistant' ? renameCalls(message, renamed) : message
    if (message.role === 'tool') result = renameResult(message, renamed)
    messages.set(message, result)
  }
  return result
}

function renameCalls(message: AssistantMessage, renamed: FittedTools['renamed']): AssistantMessage {
  const calls = message.calls?.map((call) => {
    const names = renamed.get(call.tool)
    if (!names) return call
    const { tool, properties } = names
    const text = properties ? properties.sentText(call.arguments) : call.arguments
    return { ...call, tool, arguments: text }
  })
  return { ...message, ...(calls && { calls }) }
}

function renameResult(message: ToolMessage, renamed: FittedTools['renamed']): ToolMessage {
  const { tool, ok, content } = message
  const names = renamed.get(tool)
  const properties = ok ? undefined : names?.properties
  return {
    ...message,
    tool: names?.tool ?? tool,
    ...(properties && {
      content: content.map((part) =>
        part.type === 'text' ? { ...part, text: properties.sentWords(part.text) } : part,
      ),
    }),
  }
}

/** A call whose name is known, as far as it has arrived. */
interface OpenCall {
  readonly tool: string
  /** Set if its arguments are held back until they are complete: a fragment may end within a name. */
  readonly properties: PropertyNames | undefined
  isHeld: boolean
}

async function* withOwnNames(
  events: AsyncIterable<ModelEvent>,
  renamed: FittedTools['renamed'],
): AsyncGenerator<ModelEvent, void> {
  const bySentName = new Map(
    [...renamed].map(([own, { tool, properties }]) => [tool, { tool: own, properties }] as const),
  )
  const open = new Map<number, OpenCall>()
  for await (const event of events) {
    if (event.type === 'call.delta') {
      const { index, tool } = event
      const names = tool === undefined ? undefined : bySentName.get(tool)
      if (names) open.set(index, { ...names, isHeld: false })
      const call = open.get(index)
      const ownEvent = names ? { ...event, tool: names.tool } : event
      if (!call?.properties) yield ownEvent
      else {
        call.isHeld ||= event.arguments !== ''
        if (names) yield { ...ownEvent, arguments: '' }
      }
    } else if (event.type === 'call') {
      const names = bySentName.get(event.tool)
      const text = names?.properties ? names.properties.ownText(event.arguments) : event.arguments
      if (open.get(event.index)?.isHeld) yield { type: 'call.delta', index: event.index, arguments: text }
      yield names ? { ...event, tool: names.tool, arguments: text } : event
    } else yield event
  }
}
