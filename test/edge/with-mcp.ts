import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = new URL('../..', import.meta.url).pathname

/** Writes into a folder the configuration of the edge with the stanza that binds the Worker of other servers' tools. */
export function withMcp(folder: string): string {
  const text = readFileSync(join(ROOT, 'wrangler.toml'), 'utf8')
  const config = text.replace(/^# (\[\[services\]\])\n# (binding = "TOOL_MCP")\n# (.+)$/m, '$1\n$2\n$3')
  const path = join(folder, 'wrangler.toml')
  writeFileSync(path, config.replace('main = "', `main = "${ROOT}`))
  return path
}
