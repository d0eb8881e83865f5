import { readIdentityProviders } from '../contract/identity-provider.ts'
import { keyStates } from '../http/middleware/key-states.ts'
import { keyStore } from '../http/middleware/stored-keys.ts'
import { callerOfToken } from '../http/middleware/token.ts'
import { keyRoutes } from '../http/surfaces/api-keys.ts'
import type { Part } from './part.ts'

/**
 * Tokens of the identity providers that `IDENTITY_PROVIDERS` names, beside API keys. An edge with that variable must name
 * this part.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [identityTokens] })
 */
export const identityTokens: Part = {
  name: 'identityTokens',
  extend: ({ env, config }) => ({
    config: { ...config, identityProviders: readIdentityProviders(env) },
    identityTokens: callerOfToken,
  }),
}

/**
 * API keys that are disabled without a deployment: the binding `KEYS`, a KV namespace, lists them, and is told when each
 * key was last used. An edge with that binding must name this part.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [disabledKeys] })
 */
export const disabledKeys: Part = {
  name: 'disabledKeys',
  extend: ({ env: { KEYS: namespace }, report }) => ({ keyStates: namespace && keyStates({ namespace, report }) }),
}

/**
 * API keys in the binding `KEYS`, a KV namespace, beside those of `API_KEYS`: `/keys` makes, changes, rotates, disables,
 * removes and lists them, with the scope `keys`. An edge without that binding has none.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [disabledKeys, storedKeys] })
 */
export const storedKeys: Part = {
  name: 'storedKeys',
  surfaces: [keyRoutes],
  extend: ({ env: { KEYS: namespace }, report }) => ({ storedKeys: namespace && keyStore({ namespace, report }) }),
}
