import { parseExactly, readExactly } from '../../contract/exact-numbers.ts'
import { isObject } from '../../contract/json.ts'
import type { Terminal } from '../command/terminal.ts'
import { putDefinition, readDefinition } from '../definitions.ts'
import { type EdgeAddress, refusal, send } from '../edge.ts'
import { Failure } from '../failure.ts'
import { listAllTools } from '../listing.ts'

/** What a command about the tools of an edge is given. */
export interface ToolsOptions {
  readonly edge: EdgeAddress
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/** Prints the tools of an edge; under `--json`, one value for each. */
export async function printTools({ edge, terminal, signal }: ToolsOptions): Promise<void> {
  const tools = await listAllTools(edge, signal)
  const width = Math.max(0, ...tools.map(({ name }) => name.length))
  for (const tool of tools) {
    terminal.emit(tool)
    const about = tool.available ? tool.place : `not available: ${tool.reason ?? 'no reason given'}`
    terminal.print(`${tool.name.padEnd(width)}  ${about}\n`)
  }
}

export interface ToolCallOptions extends ToolsOptions {
  readonly tool: string
  /** The arguments as JSON. Default `{}`. */
  readonly args?: string | undefined
}

/** Calls a tool of an edge, without a model, and prints its outcome. Returns 1 if the call failed. */
export async function callByName({ edge, terminal, signal, tool, args = '{}' }: ToolCallOptions): Promise<number> {
  const path = `/tools/${encodeURIComponent(tool)}/call`
  const response = await send(edge, { method: 'POST', path, body: { arguments: readArguments(args) } }, signal)
  const outcome: unknown = response.ok ? readExactly(await response.text()) : undefined
  if (!isObject(outcome)) throw await refusal(`${tool} was not called`, response)
  terminal.emit(outcome)
  terminal.print(outcome['ok'] === true ? `${textOfContent(outcome['content'])}\n` : `${faultOf(outcome['error'])}\n`)
  return outcome['ok'] === true ? 0 : 1
}

function readArguments(text: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = parseExactly(text)
  } catch (error) {
    throw new Failure(`--args is not JSON: ${String(error)}`, `Such as --args '{ "name": "Ada" }'`)
  }
  if (!isObject(value)) throw new Failure('--args must be a JSON object.', `Such as --args '{ "name": "Ada" }'`)
  return value
}

function textOfContent(content: unknown): string {
  const parts = Array.isArray(content) ? content.filter(isObject) : []
  return parts
    .map(({ type, text, mediaType }) => (type === 'text' ? String(text) : `[${String(mediaType)}]`))
    .join('\n')
}

function faultOf(error: unknown): string {
  const { code, message } = isObject(error) ? error : {}
  return `failed (${String(code)}): ${String(message)}`
}

/** Stores the definition in a file at an edge. */
export async function putFile(root: string, file: string, { edge, terminal, signal }: ToolsOptions): Promise<void> {
  const definition = readDefinition(root, file)
  await putDefinition(edge, definition, signal)
  terminal.emit({ stored: definition.name, at: edge.url })
  terminal.print(`${definition.name} is stored at ${edge.url}\n`)
}

/** Removes a stored definition from an edge. */
export async function removeTool(name: string, { edge, terminal, signal }: ToolsOptions): Promise<void> {
  const response = await send(edge, { method: 'DELETE', path: `/tools/${encodeURIComponent(name)}` }, signal)
  if (!response.ok) throw await refusal(`${name} was not removed`, response)
  await response.body?.cancel()
  terminal.emit({ removed: name, from: edge.url })
  terminal.print(`${name} is removed from ${edge.url}\n`)
}
