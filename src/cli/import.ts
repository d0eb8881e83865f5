import { printText } from './command/terminal.ts'
import { CORE_SCHEMA, defineScalarTag, floatCoreTag, intCoreTag, load, NOT_RESOLVED, YAMLException } from 'js-yaml'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { hostsOf, putDefinitions } from './definitions.ts'
import type { EdgeAddress } from './edge.ts'
import { Failure } from './failure.ts'
import { limitOf } from './openapi-filter.ts'
import { type ImportedTool, readOpenApi } from './openapi.ts'
import { addressOf } from './remote/address.ts'
import { readSecretHeader } from './secret-header.ts'
import { isExact } from '../contract/exact-numbers.ts'
import { decodedFragment, isObject, MOST_LEVELS } from '../contract/json.ts'
import { readJsonFile, readTextFile } from './text-file.ts'

export interface ImportOptions {
  /** The repository's folder. */
  readonly root: string
  /** Provides EDGECALL_URL and EDGECALL_KEY, if the definitions are put. */
  readonly env: NodeJS.ProcessEnv
  /** The path of the OpenAPI document, in JSON or YAML, relative to the root. */
  readonly file: string
  /** The host of the API. Default: the server that the document names. */
  readonly host?: string | undefined
  /** The name of the secret that calls of the operations send. */
  readonly secret?: string | undefined
  /** Headers with secrets, such as `x-api-key=SECRET_PETS`, in place of those that the document asks for. */
  readonly header: readonly string[]
  /** The operations to import: those that have one of the tags, paths and names of each kind that is given. */
  readonly tag: readonly string[]
  readonly path: readonly string[]
  readonly operation: readonly string[]
  /** The most definitions to make. Default: one of each operation. */
  readonly limit?: string | undefined
  /** The folder that the definitions are written to, relative to the root. Default `tools/definitions`. */
  readonly out?: string | undefined
  /** Put the definitions to an edge instead of writing files. */
  readonly put?: boolean | undefined
}

/** From how many tools on it is said that a model does badly with all of them. */
const MANY = 100

/**
 * Makes a stored definition of each operation of an OpenAPI 3 document, and writes them as files or puts them to an
 * edge. Prints the operations that are left out, with the reason. Throws a Failure for a document that cannot be read,
 * and if no operation can be used.
 */
export async function importOpenApi(options: ImportOptions): Promise<void> {
  const { root, env, file, out, put, host, secret, header, tag: tags, path: paths, operation: operations } = options
  const headers = header.map(readSecretHeader)
  const limit = limitOf(options.limit)
  if (secret !== undefined && !/^SECRET_[A-Z0-9_]+$/.test(secret)) {
    throw new Failure(
      `--secret ${secret} is not a valid name of a secret.`,
      'Names begin with SECRET_, such as SECRET_PETS.',
    )
  }
  const path = resolve(root, file)
  const document = bundleOpenApi(readDocument(path), (other) => readOther(dirname(path), other))
  const filter = { tags, paths, operations, limit }
  const { tools, skipped, total, selected } = readOpenApi(document, { host, secret, headers, filter })
  for (const { operation, reason } of skipped) printText(`Left out ${operation}: ${reason}\n`)
  if (tools.length === 0) throw new Failure(`${file} has no operation that a definition can be made of.`)
  if (put) await putAll(tools, addressOf({ root, env }))
  else writeAll(tools, resolve(root, out ?? 'tools/definitions'))
  const count = tools.length === 1 ? '1 definition' : `${tools.length} definitions`
  const part = selected < total ? `, of ${selected} operations that match among ${total}` : ''
  printText(`${count} ${put ? 'put' : `written to ${out ?? 'tools/definitions'}`}${part}\n`)
  const beyond = selected - skipped.length - tools.length
  if (limit !== undefined && beyond > 0) printText(`Left out ${beyond} more, beyond --limit ${limit}\n`)
  if (tools.length > MANY) {
    printText('So many tools cost tokens, and models choose among them less well: import a part with --tag, --path,\n')
    printText('--operation or --limit, or have the edge find tools by words (tool search).\n')
  }
  const hosts = hostsOf(tools)
  if (secret === undefined && headers.length === 0 && tools.some(({ wantsKey }) => wantsKey)) {
    printText('The API needs a key, which these definitions do not send: import again with --secret SECRET_…\n')
  }
  if (
    secret !== undefined &&
    !Object.values(hosts)
      .flat()
      .some((each) => each.startsWith(secret))
  ) {
    printText(
      `The document does not say where a key goes: say it with --header NAME=${secret}, in place of --secret.\n`,
    )
  }
  printText(`To let a deployed edge call them, set HTTP_TOOL_HOSTS = '${JSON.stringify(hosts)}'\n`)
}

function readDocument(path: string): unknown {
  try {
    return readDocumentFile(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure(`${path} cannot be read: ${reason}`)
  }
}

/**
 * Reads a document that the first one refers to, which must be within its folder, also after links are followed. If it
 * cannot be read, the operations that need it are left out.
 */
function readOther(folder: string, path: string): unknown {
  try {
    const [root, file] = [realpathSync(folder), realpathSync(resolve(folder, path))]
    return file.startsWith(root.endsWith(sep) ? root : root + sep) ? readDocumentFile(file) : undefined
  } catch {
    return undefined
  }
}

async function putAll(tools: readonly ImportedTool[], edge: EdgeAddress): Promise<void> {
  await putDefinitions(
    edge,
    tools.map((tool) => ({ ...tool, file: tool.name })),
  )
}

function writeAll(tools: readonly ImportedTool[], folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const { name, definition } of tools) {
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(definition, null, 2)}\n`)
  }
}

/** The most parts of a YAML document, each counted as often as aliases repeat it. */
const MOST_PARTS = 20_000_000

/** YAML 1.2, with a string of its digits in the place of a number that JavaScript cannot hold, as in JSON. */
const EXACT_SCHEMA = CORE_SCHEMA.withTags(
  [intCoreTag, floatCoreTag].map((tag) =>
    defineScalarTag(tag.tagName, {
      ...tag,
      resolve: (source, isExplicit, tagName) => {
        const number = tag.resolve(source, isExplicit, tagName)
        if (number === NOT_RESOLVED || !DECIMAL.test(source) || isExact(number, source)) return number
        return source.replace(/^\+/, '')
      },
    }),
  ),
)

const DECIMAL = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/

/**
 * Reads a document in JSON or, by the ending of its name, in YAML. Throws an Error with the reason if it cannot be read,
 * is nested more deeply than an edge accepts, or grows beyond all bounds by YAML's aliases.
 */
export function readDocumentFile(path: string): unknown {
  if (!/\.ya?ml$/i.test(path)) return readJsonFile(path)
  const value = loadYaml(readTextFile(path))
  checkParts(value)
  return value
}

/** The most lines of a YAML document that are indented. */
const MOST_MENDS = 500
const DEEP = ' '.repeat(200)

/**
 * Reads YAML. A line within quotes or brackets that is indented less than YAML 1.2 wants, such as one of a closing bracket
 * below its key, is indented, which changes no value: other parsers read such documents as they are.
 */
function loadYaml(text: string): unknown {
  const lines = text.split(/\r\n?|\n/)
  for (let mends = 0; ; mends++) {
    try {
      return load(lines.join('\n'), { schema: EXACT_SCHEMA })
    } catch (error) {
      const { reason, mark } = error instanceof YAMLException ? error : {}
      if (reason !== 'deficient indentation' || !mark || mends === MOST_MENDS) throw error
      lines[mark.line] = `${DEEP}${lines[mark.line] ?? ''}`
    }
  }
}

function checkParts(document: unknown): void {
  let partsLeft = MOST_PARTS
  const visit = (value: unknown, levels: number): void => {
    if (--partsLeft < 0) throw new Error(`its aliases make more than ${MOST_PARTS} parts of it`)
    if (typeof value !== 'object' || value === null) return
    if (levels === 0) throw new Error(`it is nested over ${MOST_LEVELS} levels deep`)
    for (const inner of Object.values(value)) visit(inner, levels - 1)
  }
  visit(document, MOST_LEVELS)
}

/** Reads another document, by its path within the first one's folder. Undefined if there is none. */
type ReadDocument = (path: string) => unknown

const MOST_DOCUMENTS = 10_000
/** The key of the bundled documents in the root. A name of letters alone needs no escapes in a reference. */
const KEY = 'x-bundled'

/**
 * Copies the documents that an OpenAPI document refers to into it, and those that they refer to in turn, so that each
 * reference leads to a place in one document. A reference to what cannot be read stays as it is.
 */
export function bundleOpenApi(document: unknown, read: ReadDocument): unknown {
  if (!isObject(document) || !hasOtherFiles(document)) return document
  const bundled: unknown[] = []
  const numbers = new Map<string, number>()

  const numberOf = (path: string): number | undefined => {
    const existing = numbers.get(path)
    if (existing !== undefined) return existing
    const document = numbers.size < MOST_DOCUMENTS ? read(path) : undefined
    if (document === undefined) return undefined
    const number = bundled.push(undefined) - 1
    numbers.set(path, number)
    bundled[number] = rewritten(document, path)
    return number
  }

  /** Copies a part of the document at a path, with references as they are from the root. */
  const rewritten = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => rewritten(item, path))
    if (!isObject(value)) return value
    const entries = Object.entries(value).map(([key, inner]) => {
      if (key !== '$ref' || typeof inner !== 'string') return [key, rewritten(inner, path)] as const
      return [key, referenceFrom(path, inner)] as const
    })
    return Object.fromEntries(entries)
  }

  const referenceFrom = (path: string, ref: string): string => {
    const [file = '', fragment = ''] = ref.split('#')
    if (file === '') return path === '' ? ref : `#/${KEY}/${numberOf(path)}${fragment}`
    const number = numberOf(pathFrom(path, file))
    return number === undefined ? ref : `#/${KEY}/${number}${fragment}`
  }

  const root = rewritten(document, '')
  return bundled.length === 0 || !isObject(root) ? document : { ...root, [KEY]: bundled }
}

/** Returns whether any reference leads to another document. */
function hasOtherFiles(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasOtherFiles)
  return Object.entries(value).some(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? !inner.startsWith('#') : hasOtherFiles(inner),
  )
}

/** Resolves a path against that of the document in which it stands. A URL stays a URL. */
function pathFrom(base: string, path: string): string {
  const root = 'file:///'
  const url = URL.parse(path, new URL(base, root).href)
  return url?.href.startsWith(root) ? decodedFragment(url.href.slice(root.length)) : path
}
