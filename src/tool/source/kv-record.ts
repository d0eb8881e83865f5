import { isObject } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { definitionHash } from '../define.ts'
import { parseStored, type StoredTool } from '../stored.ts'

/** What a KV value came to: a definition of use, or why it is of none. */
export type KvRecord =
  | { readonly ok: true; readonly stored: StoredTool; readonly definition: ToolDefinition }
  | { readonly ok: false; readonly reason: string }

/** What lies in KV beside a definition's text, and in its metadata: enough to know what is offered by default. */
interface KvMetadata {
  readonly default: boolean
  readonly hash: string
}

export interface WrittenRecord {
  readonly text: string
  readonly metadata: KvMetadata
}

export async function writeRecord(stored: StoredTool, updatedAt: number): Promise<WrittenRecord> {
  const hash = await definitionHash(stored)
  const text = JSON.stringify({ ...stored, hash, updatedAt: new Date(updatedAt).toISOString() })
  return { text, metadata: { default: stored.default === true, hash } }
}

/**
 * Reads what lies under a tool's key. All of it is checked again, since KV can be written by other ways: a definition
 * that would not have been stored, one of another name, and one that no longer has the hash it was stored with are of
 * no use. A hash that was never written is no fault. Never rejects.
 */
export async function readRecord(name: string, text: string): Promise<KvRecord> {
  const value = parseJson(text)
  if (!isObject(value)) return { ok: false, reason: 'the stored value is no JSON object' }
  const { hash: written, updatedAt: _, ...rest } = value
  const parsed = parseStored(rest)
  if (!parsed.ok) {
    return { ok: false, reason: parsed.issues.map((issue) => `${issue.path || 'it'}: ${issue.message}`).join('; ') }
  }
  const { stored } = parsed
  if (stored.name !== name) return { ok: false, reason: `the definition stored here is named "${stored.name}"` }
  const hash = await definitionHash(stored)
  if (written !== undefined && written !== hash) {
    return { ok: false, reason: 'the definition has changed since it was stored: its hash is another' }
  }
  return { ok: true, stored, definition: toDefinition(stored, hash) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toDefinition(stored: StoredTool, hash: string): ToolDefinition {
  const {
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    returnDirect,
    approval,
    timeoutMs,
    maxResultBytes,
    tags,
  } = stored
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    version: stored.version ?? '1',
    hash,
    annotations: stored.annotations ?? {},
    ...(returnDirect && { returnDirect }),
    ...(approval && { approval }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxResultBytes !== undefined && { maxResultBytes }),
    ...(tags && { tags }),
  }
}
