import { canonicalJson, sha256 } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool.ts'

/**
 * Hash of all that a definition says of its tool, effects and policy too, but for its version and its limits. The `hash`
 * that a definition brings is its Worker's own word, and need not change when the rest does.
 */
export async function digestOf(definition: ToolDefinition): Promise<string> {
  const digest = known.get(definition) ?? (await sha256(canonicalJson(saidBy(definition))))
  known.set(definition, digest)
  return digest
}

/** A definition lives as long as its Worker's description is remembered, and is looked at in every run. */
const known = new WeakMap<ToolDefinition, string>()

function saidBy(definition: ToolDefinition): object {
  const { hash: _hash, version: _version, timeoutMs: _timeoutMs, maxResultBytes: _bytes, ...said } = definition
  return said
}
