import { canonicalJson, sha256 } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool.ts'

/**
 * Hash of all that a definition says of its tool, effects and policy too, but for its version and its limits. The `hash`
 * that a definition brings is its Worker's own word, and need not change when the rest does.
 */
export function digestOf(definition: ToolDefinition): Promise<string> {
  const { hash: _hash, version: _version, timeoutMs: _timeoutMs, maxResultBytes: _bytes, ...said } = definition
  return sha256(canonicalJson(said))
}
