import type { KeyStates } from '../contract/setup.ts'
import { keyStates } from '../http/middleware/key-states.ts'
import type { SetupParts } from './parts.ts'

/** A feature of an edge: API keys that are disabled without a deployment. */
export type DisabledKeysFeature = (parts: SetupParts) => KeyStates | undefined

/**
 * API keys that are disabled without a deployment: the binding `KEYS`, a KV namespace, lists them, and is told when each
 * key was last used. An edge with that binding must name this part.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, disabledKeys })
 */
export const disabledKeys: DisabledKeysFeature = ({ env: { KEYS: namespace }, report }) =>
  namespace && keyStates({ namespace, report })
