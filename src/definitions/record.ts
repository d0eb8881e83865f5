import type { StoredDefinition } from '../contract/definition.ts'
import { canonicalJson, parseJson, sha256 } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import { toolFields } from '../wire/tool-fields.ts'
import { parseStored, type StoredTool, WORKER_FIELDS } from './definition.ts'

/** A stored definition that was read and checked, or the reason why it cannot be used. */
type StoredRecord = { readonly stored: StoredTool; readonly definition: ToolDefinition } | string

/**
 * Returns what is stored of a definition: its canonical JSON, so that the order of its keys does not matter. The hash
 * is that of the whole text, so that a run that has pinned it calls exactly what it was told of: another host or policy
 * is another version too.
 */
export async function encodeDefinition(
  stored: StoredTool,
): Promise<{ kept: StoredDefinition; definition: ToolDefinition }> {
  const text = canonicalJson(stored)
  const hash = await sha256(text)
  return {
    kept: { text, metadata: { default: stored.default === true, hash } },
    definition: toDefinition(stored, hash),
  }
}

/**
 * Reads the definition that is stored under a name. All of it is checked again, since the store can be written in other
 * ways: a definition that would not have been stored, or that has another name, cannot be used. Never rejects.
 */
export async function decodeDefinition(name: string, text: string): Promise<StoredRecord> {
  const parsed = parseStored(parseJson(text))
  if (!parsed.ok) return parsed.issues.map(({ path, message }) => `${path || 'it'}: ${message}`).join('; ')
  const { stored } = parsed
  return stored.name === name
    ? { stored, definition: toDefinition(stored, await sha256(text)) }
    : `the definition stored here is named "${stored.name}"`
}

const FIELDS = Object.keys({ ...toolFields('stored'), ...WORKER_FIELDS })

function toDefinition(stored: StoredTool, hash: string): ToolDefinition {
  // Its arguments go to another host or to code of others, and its results hold what somebody wrote there. The author
  // cannot say otherwise.
  const isOutbound =
    'http' in stored || 'worker' in stored || ('code' in stored && (stored.code.hosts ?? []).length > 0)
  const { annotations = {}, version = '1' } = stored
  const definition: Omit<ToolDefinition, 'hash' | 'version' | 'annotations'> = Object.fromEntries(
    Object.entries(stored)
      .filter(([field]) => FIELDS.includes(field))
      .map((entry): readonly unknown[] => entry),
  )
  return {
    ...definition,
    version,
    hash,
    annotations: isOutbound ? { ...annotations, untrusted: true, openWorld: true } : annotations,
  }
}
