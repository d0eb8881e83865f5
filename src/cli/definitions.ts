import { globSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isObject } from '../contract/json.ts'
import { type EdgeAddress, refusal, send } from './edge.ts'
import { Failure } from './failure.ts'
import { readJsonFile, readTextFile } from './text-file.ts'

/** A definition to be stored, and the file that it comes from. */
export interface DefinitionFile {
  readonly file: string
  readonly name: string
  readonly definition: Readonly<Record<string, unknown>>
}

/**
 * Reads the definitions in `tools/definitions/`. A definition may name a file beside it for its module, with
 * `"code": { "file": "slug.js", … }`. Only the files and the names are checked here; the edge checks the rest when it
 * stores a definition. Throws a Failure that names the file.
 */
export function readDefinitions(root: string): DefinitionFile[] {
  return definitionFiles(root).map((file) => readDefinition(root, file))
}

/** Returns the paths of the definitions in `tools/definitions/`. */
export function definitionFiles(root: string): string[] {
  return globSync('tools/definitions/*.json', { cwd: root }).sort()
}

/** Reads one definition, as `readDefinitions` does. */
export function readDefinition(root: string, file: string): DefinitionFile {
  const definition = readJson(join(root, file), file)
  const name = isObject(definition) ? definition['name'] : undefined
  if (!isObject(definition) || typeof name !== 'string') throw new Failure(`${file} must be an object with a \`name\`.`)
  const stem = basename(file, '.json')
  if (stem === name || stem === kebab(name)) return { file, name, definition: withModule(root, file, definition) }
  throw new Failure(`${file} defines the tool "${name}".`, `Name the file ${kebab(name)}.json, or the tool after it.`)
}

/** Replaces `code.file` of a definition with `code.module`, the text of that file. */
function withModule(
  root: string,
  file: string,
  definition: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { code } = definition
  if (!isObject(code) || typeof code['file'] !== 'string') return definition
  const { file: beside, ...rest } = code
  const path = join(dirname(file), beside)
  try {
    return { ...definition, code: { ...rest, module: readTextFile(join(root, path)) } }
  } catch (error) {
    throw new Failure(`${path}, the code of ${file}, cannot be read: ${String(error)}`)
  }
}

function readJson(path: string, file: string): unknown {
  try {
    return readJsonFile(path)
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Converts a tool's name to a file name: `exchangeRate` to `exchange-rate`. */
function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter, at: number) => `${at > 0 ? '-' : ''}${letter.toLowerCase()}`)
}

/** Returns the hosts that the definitions call, each with the secrets sent to it, in the form of HTTP_TOOL_HOSTS. */
export function hostsOf(definitions: readonly Pick<DefinitionFile, 'definition'>[]): Record<string, readonly string[]> {
  const hosts: Record<string, readonly string[]> = {}
  for (const { definition } of definitions) {
    const { secrets, hostsCalled } = outboundOf(definition)
    for (const host of hostsCalled) hosts[host] = [...new Set([...(hosts[host] ?? []), ...secrets])]
  }
  return hosts
}

function outboundOf({ http, code }: DefinitionFile['definition']): { secrets: string[]; hostsCalled: string[] } {
  const { url, hosts, secrets } = { ...Object(http), ...Object(code) }
  return {
    secrets: texts(secrets),
    hostsCalled: [
      ...texts([url]).flatMap((each) => (URL.canParse(each) ? [keyOf(new URL(each))] : [])),
      ...texts(hosts),
    ],
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/**
 * Returns the host of an https URL, or the whole origin of any other, which HTTP_TOOL_HOSTS requires for plain http.
 */
function keyOf({ protocol, host, origin }: URL): string {
  return protocol === 'https:' ? host : origin
}

/** Stores the definitions at an edge, one after another. Throws a Failure that names the first file that is refused. */
export async function putDefinitions(
  edge: EdgeAddress,
  definitions: readonly DefinitionFile[],
  signal?: AbortSignal,
): Promise<void> {
  for (const definition of definitions) await putDefinition(edge, definition, signal)
}

/** Stores one definition at an edge. Throws a Failure that names its file. */
export async function putDefinition(
  edge: EdgeAddress,
  { file, name, definition }: DefinitionFile,
  signal?: AbortSignal,
): Promise<void> {
  const path = `/tools/${encodeURIComponent(name)}`
  const answer = await send(edge, { method: 'PUT', path, body: definition }, signal)
  if (!answer.ok) throw await refusal(`${file} was not stored`, answer)
  await answer.body?.cancel()
}
