import type { KeptDefinition } from '../../contract/definition.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { definitionHash } from '../define.ts'
import { parseStored, type StoredTool } from './definition.ts'

/** What was kept, checked: a definition of use, or why it is of none. */
type StoredRecord = { readonly stored: StoredTool; readonly definition: ToolDefinition } | string

/** What is to be kept of a definition. */
export async function keep(
  stored: StoredTool,
  updatedAt: number,
): Promise<{ kept: KeptDefinition; definition: ToolDefinition }> {
  const hash = await definitionHash(stored)
  const text = JSON.stringify({ ...stored, hash, updatedAt: new Date(updatedAt).toISOString() })
  const kept = { text, metadata: { default: stored.default === true, hash } }
  return { kept, definition: toDefinition(stored, hash) }
}

/**
 * Reads what was kept under a name. All of it is checked again, since a store can be written by other ways: a definition
 * that would not have been stored, one of another name, and one that no longer has the hash it was stored with are of
 * no use. A hash that was never written is no fault. Never rejects.
 */
export async function readKept(name: string, text: string): Promise<StoredRecord> {
  const value = parseJson(text)
  if (!isObject(value)) return 'the stored value is no JSON object'
  const { hash: written, updatedAt: _, ...rest } = value
  const parsed = parseStored(rest)
  if (!parsed.ok) return parsed.issues.map(({ path, message }) => `${path || 'it'}: ${message}`).join('; ')
  const { stored } = parsed
  if (stored.name !== name) return `the definition stored here is named "${stored.name}"`
  const hash = await definitionHash(stored)
  return written === undefined || written === hash
    ? { stored, definition: toDefinition(stored, hash) }
    : 'the definition has changed since it was stored: its hash is another'
}

function toDefinition(stored: StoredTool, hash: string): ToolDefinition {
  const { name, description, inputSchema, version = '1', annotations = {} } = stored
  const { title, outputSchema, returnDirect, approval, timeoutMs, maxResultBytes, tags } = stored
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    version,
    hash,
    annotations,
    ...(returnDirect && { returnDirect }),
    ...(approval && { approval }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxResultBytes !== undefined && { maxResultBytes }),
    ...(tags && { tags }),
  }
}
