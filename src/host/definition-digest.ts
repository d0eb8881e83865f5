import { canonicalJson, sha256 } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool.ts'

/**
 * Returns a hash of a definition, including its effects and policy, without its version and limits. A definition's own
 * `hash` is chosen by its Worker, and need not change when the rest does.
 */
export async function digestOf(definition: ToolDefinition): Promise<string> {
  const digest = digests.get(definition) ?? (await sha256(canonicalJson(digestedFields(definition))))
  digests.set(definition, digest)
  return digest
}

/** Digests by definition. Every run needs them, and a definition lives as long as its Worker's cached description. */
const digests = new WeakMap<ToolDefinition, string>()

function digestedFields(definition: ToolDefinition): object {
  const { hash: _hash, version: _version, timeoutMs: _timeoutMs, maxResultBytes: _bytes, ...fields } = definition
  return fields
}
