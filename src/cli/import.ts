import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hostsOf, putDefinitions } from './definitions.ts'
import { Failure } from './failure.ts'
import { readJsonFile } from './json-file.ts'
import { type ImportedTool, readOpenApi } from './openapi.ts'

export interface ImportOptions {
  /** The repository's folder. */
  readonly root: string
  /** Read for EDGECALL_URL and EDGECALL_KEY where the definitions are put. */
  readonly env: NodeJS.ProcessEnv
  /** The OpenAPI document, in JSON; from the root. */
  readonly file: string
  /** Where the API answers. Default: as the document says. */
  readonly host?: string | undefined
  /** Name of the secret that its operations are called with. */
  readonly secret?: string | undefined
  /** The folder that the definitions are written to; from the root. Default `tools/definitions`. */
  readonly out?: string | undefined
  /** Put them to an edge, and write nothing. */
  readonly put?: boolean | undefined
}

/**
 * Makes a stored definition of each operation of an OpenAPI 3 document, and writes them as files or puts them to an
 * edge. What cannot be one is told, with the reason. Throws a Failure for a document that cannot be read, and where none
 * of its operations is of use.
 */
export async function importOpenApi({ root, env, file, out, put, ...options }: ImportOptions): Promise<void> {
  const { secret } = options
  if (secret !== undefined && !/^SECRET_[A-Z0-9_]+$/.test(secret)) {
    throw new Failure(`--secret ${secret} is no name of a secret.`, 'Names begin with SECRET_, such as SECRET_PETS.')
  }
  const { tools, skipped } = readOpenApi(readDocument(resolve(root, file)), options)
  for (const { operation, reason } of skipped) print(`Left out ${operation}: ${reason}\n`)
  if (tools.length === 0) throw new Failure(`${file} has no operation that a definition can be made of.`)
  if (put) await putAll(tools, env)
  else writeAll(tools, resolve(root, out ?? 'tools/definitions'))
  const count = tools.length === 1 ? '1 definition' : `${tools.length} definitions`
  print(`${count} ${put ? 'put' : `written to ${out ?? 'tools/definitions'}`}\n`)
  const hosts = hostsOf(tools)
  if (secret === undefined && tools.some(({ wantsKey }) => wantsKey)) {
    print('The document asks for a key, which they do not send: import again with --secret SECRET_…\n')
  }
  if (secret !== undefined && !Object.values(hosts).flat().includes(secret)) {
    print(`The document does not say where a key goes: none of them sends ${secret}.\n`)
  }
  print(`A deployed edge calls them once it is told to: HTTP_TOOL_HOSTS = '${JSON.stringify(hosts)}'\n`)
}

function readDocument(path: string): unknown {
  try {
    return readJsonFile(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const hint = /\.ya?ml$/i.test(path) ? 'Only JSON is read: convert it, such as with `yq -o=json`.' : ''
    throw new Failure(`${path} cannot be read: ${reason}`, hint)
  }
}

async function putAll(tools: readonly ImportedTool[], env: NodeJS.ProcessEnv): Promise<void> {
  const { EDGECALL_URL: url = '', EDGECALL_KEY: key } = env
  if (url === '') throw new Failure('Set EDGECALL_URL to the address of the edge, and EDGECALL_KEY to a key of it.')
  const named = tools.map((tool) => ({ ...tool, file: tool.name }))
  await putDefinitions({ url: url.replace(/\/+$/, ''), key }, named)
}

function writeAll(tools: readonly ImportedTool[], folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const { name, definition } of tools) {
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(definition, null, 2)}\n`)
  }
}

function print(text: string): void {
  process.stdout.write(text)
}
