import type { StoredKeys } from '../contract/stored-keys.ts'
import { keyStore } from '../http/middleware/stored-keys.ts'
import type { Surface } from '../http/surface.ts'
import { keyRoutes } from '../http/surfaces/api-keys.ts'
import type { SetupParts } from './parts.ts'

/** A feature of an edge: API keys that operators make and change without a deployment. */
export interface StoredKeysFeature {
  readonly keys: (parts: SetupParts) => StoredKeys | undefined
  readonly surface: Surface
}

/**
 * API keys in the binding `KEYS`, a KV namespace, beside those of `API_KEYS`: `/keys` makes, changes, rotates, disables,
 * removes and lists them, with the scope `keys`. An edge without that binding has none.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, disabledKeys, storedKeys })
 */
export const storedKeys: StoredKeysFeature = {
  keys: ({ env: { KEYS: namespace }, report }) => namespace && keyStore({ namespace, report }),
  surface: keyRoutes,
}
