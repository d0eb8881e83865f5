import type { AcceptanceService } from '../contract/acceptance.ts'
import type { CatalogueService, VersionedDefinitions } from '../contract/catalogue.ts'
import type { ConnectionService } from '../contract/connection.ts'
import type { EmbeddingService } from '../contract/embedding.ts'
import type { ConversationService, Objects } from '../contract/conversation.ts'
import type { DirectoryService, RunShard } from '../contract/directory.ts'
import type { ScriptNamespace } from '../host/worker/script.ts'

/**
 * The bindings, variables and secrets of an edge Worker, as its wrangler.toml names them. Bindings named `TOOL_*` are
 * tool Workers. docs/configuration.md lists the variables.
 */
export interface Env {
  readonly CONVERSATIONS: Objects<ConversationService>
  readonly DIRECTORIES: Objects<DirectoryService & RunShard>
  /** Needed for stored tools, and to hold back tools that change. */
  readonly CATALOG?: Objects<CatalogueService & AcceptanceService & EmbeddingService>
  /** Needed for the same. */
  readonly TOOLS?: KVNamespace
  /** Needed for stored tools, and to check structured answers. */
  readonly DEFINITIONS?: VersionedDefinitions
  /** The Worker `tools/mcp`, which is a tool Worker too. Needed for `mcpConnections`. */
  readonly TOOL_MCP?: ConnectionService
  /** A dispatch namespace, whose Workers stored definitions may name. */
  readonly DISPATCHER?: ScriptNamespace
  /** Holds which API keys are disabled, and when each was last used. */
  readonly KEYS?: KVNamespace
  readonly [name: string]: unknown
}

/**
 * Returns a variable or secret as text; undefined if it is not set, empty or not a text.
 *
 * @example
 * const apiKey = textOf(env, 'ACME_API_KEY')
 */
export function textOf(env: Env, name: string): string | undefined {
  const value = env[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
