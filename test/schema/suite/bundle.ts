import { isObject, type JsonSchema } from '../../../src/contract/json.ts'
import { documentOf } from '../../../src/schema/document.ts'
import { refsOf } from '../../../src/schema/keywords.ts'

/** Returns the document at a URI, or undefined if there is none. */
type FindDocument = (uri: string) => unknown

const MOST_DOCUMENTS = 50

/**
 * Copies the documents that a schema refers to into its `$defs` (in draft-07 its `definitions`), each under its URI, and
 * those that they refer to in turn. A schema that is bundled needs no other document; `checkSchema` names the references
 * that are still open. `base` is the URI of the schema itself, to which its references are relative.
 */
export function bundle(schema: JsonSchema, find: FindDocument, base?: string): JsonSchema {
  const root = base === undefined || '$id' in schema ? schema : { ...schema, $id: base }
  const documents = new Map<string, JsonSchema>()
  for (let bundled = root; ; bundled = withDocuments(root, documents)) {
    const [uri] = openUris(bundled).filter((each) => !documents.has(each))
    const document = uri === undefined || documents.size >= MOST_DOCUMENTS ? undefined : find(uri)
    if (uri === undefined || document === undefined) return bundled
    documents.set(uri, isObject(document) ? { ...document, $id: uri } : { $id: uri, allOf: [document] })
  }
}

function withDocuments(root: JsonSchema, documents: ReadonlyMap<string, JsonSchema>): JsonSchema {
  const key = documentOf(root).isLegacy ? 'definitions' : '$defs'
  return { ...root, [key]: { ...Object(root[key]), ...Object.fromEntries(documents) } }
}

/** Returns the URIs of the documents that references lead to and that are not there. */
function openUris(schema: JsonSchema): string[] {
  const document = documentOf(schema)
  return document.places.flatMap(({ schema: from }) => {
    if (!isObject(from)) return []
    const open = refsOf(from).filter((ref) => document.resolve(from, ref) === undefined)
    return open.map((ref) => document.addressOf(from, ref).split('#')[0] ?? '').filter((uri) => /^[a-z]+:/i.test(uri))
  })
}
