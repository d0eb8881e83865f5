import type { KeyOrderService } from '../contract/api-key.ts'
import type { AcceptanceService, CatalogueService, VersionedDefinitions } from '../contract/catalogue.ts'
import type { ConnectionService } from '../contract/connection.ts'
import type { EmbeddingService } from '../contract/model.ts'
import type { ConversationService, Objects } from '../contract/conversation.ts'
import type { DirectoryService, RunShard } from '../contract/directory.ts'
import type { ScheduleService } from '../contract/schedule.ts'
import type { ScriptNamespace } from '../host/worker/script.ts'

/**
 * The bindings, variables and secrets of an edge Worker, as its wrangler.toml names them. Bindings named `TOOL_*` are
 * tool Workers. docs/configuration.md lists the variables.
 */
export interface Env {
  readonly CONVERSATIONS: Objects<ConversationService>
  readonly DIRECTORIES: Objects<DirectoryService & RunShard>
  /** Needed for stored tools, to hold back tools that change, and to order changes of stored API keys. */
  readonly CATALOG?: Objects<CatalogueService & AcceptanceService & EmbeddingService & KeyOrderService>
  /** Needed for the same. */
  readonly TOOLS?: KVNamespace
  /** Needed for stored tools, and to check structured answers. */
  readonly DEFINITIONS?: VersionedDefinitions
  /** Needed for schedules. */
  readonly SCHEDULES?: Objects<ScheduleService>
  /** The Worker `tools/mcp`, which is a tool Worker too. Needed for access to MCP servers by OAuth. */
  readonly TOOL_MCP?: ConnectionService
  /** A dispatch namespace, whose Workers stored definitions may name. */
  readonly DISPATCHER?: ScriptNamespace
  /** Holds which API keys are disabled, and when each was last used. */
  readonly KEYS?: KVNamespace
  /** Who has signed in at the edge, and with which clients. Needed for the part `authorizationServer`. */
  readonly GRANTS?: KVNamespace
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

/** Matches the names of variables that are secrets. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)|CREDENTIAL|HEADERS/
/** `API_KEYS` has only hashes. */
const PUBLIC_NAMES = ['API_KEYS']

/**
 * Returns the values of the secrets of an env, which its logs, tools and models must not pass on: those of the variables
 * whose names say so. Of a list, each item is a secret too, and of a header its value, also without its scheme.
 */
export function secretsOf(env: Env): string[] {
  const values = Object.entries(env).flatMap(([name, value]) =>
    typeof value === 'string' && SECRET_NAME.test(name) && !PUBLIC_NAMES.includes(name) ? partsOf(name, value) : [],
  )
  return [...new Set(values)]
}

function partsOf(name: string, value: string): string[] {
  const items = value.split(',').map((item) => item.trim())
  if (!name.includes('HEADERS')) return [value, ...items]
  return items.flatMap((item) => {
    const header = item.slice(item.indexOf('=') + 1).trim()
    const decoded = decodeHeader(header)
    return [header, decoded, decoded.slice(decoded.lastIndexOf(' ') + 1)]
  })
}

/** Returns a header as it is sent; as it is set, if it cannot be decoded, which is reported where headers are read. */
function decodeHeader(header: string): string {
  try {
    return decodeURIComponent(header)
  } catch {
    return header
  }
}
