import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isObject } from '../contract/json.ts'
import { type Edge, refusal, send } from './edge.ts'
import { Failure } from './failure.ts'
import { readJsonFile } from './json-file.ts'

/** A definition that is to be stored, and the file that it stands in. */
export interface DefinitionFile {
  readonly file: string
  readonly name: string
  readonly definition: Readonly<Record<string, unknown>>
}

/**
 * The definitions in `tools/definitions/`. A module may stand in a file of its own beside its definition, which then says
 * `"code": { "file": "slug.js", … }`. Only what a file can be blamed for is checked here; the edge checks the rest when it
 * stores them. Throws a Failure that names the file.
 */
export function readDefinitions(root: string): DefinitionFile[] {
  return globSync('tools/definitions/*.json', { cwd: root })
    .sort()
    .map((file) => readDefinition(root, file))
}

function readDefinition(root: string, file: string): DefinitionFile {
  const definition = readJson(join(root, file), file)
  const name = isObject(definition) ? definition['name'] : undefined
  if (!isObject(definition) || typeof name !== 'string') throw new Failure(`${file} must be an object with a \`name\`.`)
  const stem = basename(file, '.json')
  if (stem === name || stem === kebab(name)) return { file, name, definition: withModule(root, file, definition) }
  throw new Failure(`${file} defines the tool "${name}".`, `Name the file ${kebab(name)}.json, or the tool after it.`)
}

/** The definition with the text of its module in the place of `code.file`. */
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
    return { ...definition, code: { ...rest, module: readFileSync(join(root, path), 'utf8') } }
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

/** `exchangeRate` as file names have it: `exchange-rate`. */
function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter, at: number) => `${at > 0 ? '-' : ''}${letter.toLowerCase()}`)
}

/** The hosts that these definitions call, each with the secrets that they send there, in the form of HTTP_TOOL_HOSTS. */
export function hostsOf(definitions: readonly Pick<DefinitionFile, 'definition'>[]): Record<string, readonly string[]> {
  const hosts: Record<string, readonly string[]> = {}
  for (const { definition } of definitions) {
    const { secrets, called } = wayOut(definition)
    for (const host of called) hosts[host] = [...new Set([...(hosts[host] ?? []), ...secrets])]
  }
  return hosts
}

function wayOut({ http, code }: DefinitionFile['definition']): { secrets: string[]; called: string[] } {
  const { url, hosts, secrets } = { ...Object(http), ...Object(code) }
  return {
    secrets: texts(secrets),
    called: [...texts([url]).flatMap((each) => (URL.canParse(each) ? [keyOf(new URL(each))] : [])), ...texts(hosts)],
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/** A host, or a whole origin where that is the only way: for plain http. */
function keyOf({ protocol, host, origin }: URL): string {
  return protocol === 'https:' ? host : origin
}

/** Stores the definitions at an edge, one after another. Throws a Failure that names the first file which it refuses. */
export async function putDefinitions(
  edge: Edge,
  definitions: readonly DefinitionFile[],
  signal?: AbortSignal,
): Promise<void> {
  for (const { file, name, definition } of definitions) {
    const path = `/tools/${encodeURIComponent(name)}`
    const answer = await send(edge, { method: 'PUT', path, body: definition }, signal)
    if (!answer.ok) throw await refusal(`${file} was not stored`, answer)
    await answer.body?.cancel()
  }
}
