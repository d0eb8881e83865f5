import type { KeptDefinition } from '../../contract/definition.ts'
import { canonicalJson, parseJson, sha256 } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { parseStored, type StoredTool } from './definition.ts'

/** What was kept, checked: a definition of use, or why it is of none. */
type StoredRecord = { readonly stored: StoredTool; readonly definition: ToolDefinition } | string

/**
 * What is to be kept of a definition: one text for one meaning, whatever the order of its keys. Its hash is that of the
 * text, so that a run which has pinned it calls what it was told of and nothing else: another host or policy is another
 * version too.
 */
export async function keep(stored: StoredTool): Promise<{ kept: KeptDefinition; definition: ToolDefinition }> {
  const text = canonicalJson(stored)
  const hash = await sha256(text)
  return {
    kept: { text, metadata: { default: stored.default === true, hash } },
    definition: toDefinition(stored, hash),
  }
}

/**
 * Reads what was kept under a name. All of it is checked again, since a store can be written by other ways: a definition
 * that would not have been stored, and one of another name, are of no use. Never rejects.
 */
export async function readKept(name: string, text: string): Promise<StoredRecord> {
  const parsed = parseStored(parseJson(text))
  if (!parsed.ok) return parsed.issues.map(({ path, message }) => `${path || 'it'}: ${message}`).join('; ')
  const { stored } = parsed
  return stored.name === name
    ? { stored, definition: toDefinition(stored, await sha256(text)) }
    : `the definition stored here is named "${stored.name}"`
}

function toDefinition(stored: StoredTool, hash: string): ToolDefinition {
  const { name, description, inputSchema, version = '1', annotations = {} } = stored
  // What comes from elsewhere is what somebody wrote there, unless the definition says otherwise.
  const asks = 'http' in stored || ('code' in stored && (stored.code.hosts ?? []).length > 0)
  const isFromElsewhere = asks && annotations.openWorld !== false
  const { title, outputSchema, returnDirect, approval, timeoutMs, maxResultBytes, tags } = stored
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    version,
    hash,
    annotations: isFromElsewhere ? { untrusted: true, ...annotations } : annotations,
    ...(returnDirect && { returnDirect }),
    ...(approval && { approval }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxResultBytes !== undefined && { maxResultBytes }),
    ...(tags && { tags }),
  }
}
