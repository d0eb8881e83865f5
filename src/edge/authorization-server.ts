import { callerOfGrant, signIn } from '../http/surfaces/sign-in.ts'
import { MCP_SCOPES, SCOPE_TOKEN } from '../http/surfaces/mcp-metadata.ts'
import { ConfigError } from '../contract/config.ts'
import type { Part } from './part.ts'

export interface AuthorizationServerOptions {
  /**
   * Further scopes that people may grant, such as those that `TOOL_POLICY` asks callers for. Default: `tools:read` and
   * `chat`, which `/mcp` needs, and `approve`.
   */
  readonly scopes?: readonly string[]
}

/**
 * An authorization server for `/mcp`: people connect a client such as Claude, ChatGPT or Cursor by its address alone, and
 * sign in with an API key of this edge, on a page of this edge. A token acts as the caller of that key, for `/mcp` only,
 * with the scopes that the person has granted, and ends with the key. Needs the part `mcp` and the binding `GRANTS`, a KV
 * namespace. With `AUTH=open` nobody needs to sign in, and nobody can.
 *
 * @example
 * import { authorizationServer } from 'edgecall/oauth'
 *
 * createEdge({ providers: { openai: openaiFromEnv }, use: [mcp, authorizationServer()] })
 */
export function authorizationServer({ scopes = [] }: AuthorizationServerOptions = {}): Part {
  return {
    name: 'authorizationServer',
    needs: ({ GRANTS: grants }, _config, parts) => {
      if (!parts.includes('mcp')) return 'the part mcp'
      return grants ? undefined : 'the binding GRANTS, a KV namespace'
    },
    surfaces: signIn,
    extend: ({ env: { GRANTS: grants }, config, identityTokens }) => {
      if (!scopes.every((scope) => SCOPE_TOKEN.test(scope)))
        throw new ConfigError('scopes of authorizationServer()', 'texts without spaces, quotes and other alphabets')
      if (!grants || config.auth === 'open') return {}
      return {
        signIn: { grants, scopes: [...new Set([...MCP_SCOPES, 'approve', ...scopes])] },
        identityTokens: async (...request) => (await callerOfGrant(...request)) ?? identityTokens?.(...request),
      }
    },
  }
}
