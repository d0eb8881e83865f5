import { readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { isObject } from '../../src/contract/json.ts'
import { bundleOpenApi, readDocumentFile } from '../../src/cli/import.ts'
import { readOpenApi } from '../../src/cli/openapi.ts'
import { definitionService } from '../../src/definitions/service.ts'
import { argumentsFor, contradictionOf, type Definition, deref, kindsOf, type Operation, partsOf } from './operation.ts'
import { type SentRequest, Unreadable } from './read-request.ts'
import { wrongsOf } from './check-request.ts'
import { schemaCheckOf } from './schema-check.ts'
import { seeded } from './random.ts'

/**
 * Imports each OpenAPI document of a folder, calls the tools of its operations, and reads the requests as the document
 * says that they are written. `node test/openapi/corpus.ts FOLDER [operations of each document, 20 by default]`.
 */
const [, , folder = '', most = '20'] = process.argv
const HOST = 'https://api.example.com'
const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace']
const SHARES = [1, 0.6, 0]
const MOST_SHOWN = 400

const counts = { documents: 0, refused: 0, operations: 0, imported: 0, called: 0, requests: 0, wrong: 0 }
const tallies = {
  documents: new Map<string, number>(),
  operations: new Map<string, number>(),
  arguments: new Map<string, number>(),
  wrong: new Map<string, number>(),
}
const slowest: { readonly ms: number; readonly file: string }[] = []

function count(tally: Map<string, number>, reason: string): void {
  tally.set(reason, (tally.get(reason) ?? 0) + 1)
}

/** Pairs the operations of a document with their definitions, which are in the same order. */
function operationsOf(
  document: Readonly<Record<string, unknown>>,
  { tools, skipped }: ReturnType<typeof readOpenApi>,
): Operation[] {
  const skips = new Set(skipped.map(({ operation }) => operation))
  const definitions = tools.map(({ definition }) => definition as Definition)
  const check = schemaCheckOf(document)
  return Object.entries(Object(document['paths'])).flatMap(([path, value]) => {
    if (skips.has(path)) return []
    const item = deref(document, value)
    return METHODS.flatMap((method): Operation[] => {
      if (!isObject(item[method]) || skips.has(`${method.toUpperCase()} ${path}`)) return []
      const definition = definitions.shift()
      if (!definition) throw new Error(`no definition is left for ${method} ${path}`)
      return [{ document, method, path, item, fields: deref(document, item[method]), definition, check }]
    })
  })
}

/** Chooses operations, those first that have kinds of parameters that the others do not. */
function choose(operations: readonly Operation[]): Operation[] {
  const timesOf = new Map<string, number>()
  const rest = operations.map((operation) => ({ operation, kinds: kindsOf(operation) }))
  const chosen: Operation[] = []
  while (chosen.length < Number(most) && rest.length > 0) {
    const worth = ({ kinds }: { readonly kinds: readonly string[] }) =>
      kinds.reduce((sum, kind) => sum + 1 / (1 + 8 * (timesOf.get(kind) ?? 0)), 0)
    const best = rest.reduce((one, other) => (worth(other) > worth(one) ? other : one))
    rest.splice(rest.indexOf(best), 1)
    for (const kind of best.kinds) timesOf.set(kind, (timesOf.get(kind) ?? 0) + 1)
    chosen.push(best.operation)
  }
  return chosen
}

async function callOperation(operation: Operation, file: string): Promise<void> {
  const { definition } = operation
  const report = (wrong: string, details = '') => {
    counts.wrong += 1
    count(tallies.wrong, wrong.split(':')[0] ?? wrong)
    if (counts.wrong <= MOST_SHOWN)
      process.stdout.write(
        `WRONG ${file} ${operation.method} ${operation.path}: ${wrong.slice(0, 300)} ${details.slice(0, 300)}\n`,
      )
  }
  const requests: SentRequest[] = []
  const service = definitionService({
    fetch: async (url, { headers, body }) => {
      requests.push({
        url: new URL(url),
        headers: headers as Record<string, string>,
        body: typeof body === 'string' ? body : undefined,
      })
      return new Response(null, { status: 204 })
    },
  })
  const hosts = { [new URL(definition.http.url.replace(/\{.*/, '')).origin]: [] }
  const written = await service.write(definition.name, definition, hosts)
  if (!written.ok) return report(`storing: ${JSON.stringify(written.issues[0])}`)
  counts.called += 1
  try {
    const { inputSchema } = written.read.definition
    const stored = { ...operation, definition: { ...definition, inputSchema } }
    const parts = partsOf(stored)
    const random = seeded(`${file} ${operation.method} ${operation.path}`)
    for (const share of SHARES) {
      const args = argumentsFor(stored, parts, { share, random })
      const reason = args ? contradictionOf(parts, args) : 'no value fits a required argument'
      if (!args || reason !== undefined) {
        count(tallies.arguments, reason ?? '')
        process.stdout.write(`NOT CALLED ${file} ${operation.method} ${operation.path}: ${reason}\n`)
        continue
      }
      const context = {
        runId: 'r',
        callId: 'c',
        idempotencyKey: 'i',
        attempt: 1,
        deadline: Date.now() + 60_000,
        caller: { tenant: 'acme', scopes: [] },
        values: {},
      }
      const outcome = await service.call(
        written.read.stored,
        { name: definition.name, arguments: args, hash: '', context },
        { hosts, secrets: {} },
        { whenAborted: () => new Promise(() => {}), progress: async () => {} },
      )
      const request = requests.pop()
      if (!request) {
        report(
          `call: ${outcome && !outcome.ok ? `${outcome.error.message} ${outcome.error.detail ?? ''}` : 'nothing was sent'}`,
          JSON.stringify(args),
        )
        continue
      }
      counts.requests += 1
      for (const wrong of wrongsOf(operation, parts, args, request))
        report(wrong, `${request.url.href} ${request.body ?? ''}`)
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    report(`arguments: ${error.message}`)
  }
}

async function checkDocument(path: string): Promise<void> {
  const file = relative(folder, path)
  const began = performance.now()
  let document: unknown
  let read: ReturnType<typeof readOpenApi>
  try {
    document = bundleOpenApi(readDocumentFile(path), (other) => {
      try {
        return readDocumentFile(resolve(dirname(path), other))
      } catch {
        return undefined
      }
    })
    read = readOpenApi(document, { host: HOST })
  } catch (error) {
    counts.refused += 1
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    count(tallies.documents, reason.slice(0, 160).replace(/\n.*/s, ''))
    process.stdout.write(`REFUSED ${file}: ${reason.slice(0, 200)}\n`)
    return
  }
  slowest.push({ ms: performance.now() - began, file })
  counts.documents += 1
  counts.operations += read.total
  counts.imported += read.tools.length
  for (const { reason } of read.skipped)
    count(
      tallies.operations,
      reason.replace(/(?:parameter|cookie|field|reference) \S+/, (each) => `${each.split(' ')[0]} …`),
    )
  if (!isObject(document)) return
  for (const operation of choose(operationsOf(document, read))) await callOperation(operation, file)
}

function print(title: string, tally: ReadonlyMap<string, number>): void {
  process.stdout.write(`\n${title}\n`)
  for (const [reason, times] of [...tally].toSorted(([, one], [, other]) => other - one).slice(0, 40))
    process.stdout.write(`  ${times}  ${reason.slice(0, 200)}\n`)
}

const files = statSync(folder).isDirectory()
  ? readdirSync(folder)
      .filter((name) => /\.(?:ya?ml|json)$/i.test(name))
      .toSorted()
      .map((name) => join(folder, name))
  : [folder]
for (const file of files) await checkDocument(file)
print('Documents that are refused', tallies.documents)
print('Operations that are left out', tallies.operations)
print('Operations that are not called', tallies.arguments)
print('Wrong requests', tallies.wrong)
const slow = slowest.toSorted((one, other) => other.ms - one.ms).slice(0, 5)
process.stdout.write(`\nSlowest imports: ${slow.map(({ ms, file }) => `${file} ${Math.round(ms)} ms`).join(', ')}\n`)
process.stdout.write(`${JSON.stringify(counts)}\n`)
if (counts.wrong > 0) process.exitCode = 1
