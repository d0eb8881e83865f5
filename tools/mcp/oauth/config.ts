/** How this Worker gets access to a server, by OAuth 2.1. */
export interface OAuthConfig {
  /**
   * `authorization_code`: a person signs in, once. `client_credentials`: the edge has credentials of its own.
   */
  readonly grant: 'authorization_code' | 'client_credentials'
  /**
   * Whose the connection is: the edge's, for all tenants, or each tenant's own. The list of tools is always read with
   * the edge's connection.
   */
  readonly owner: 'edge' | 'tenant'
  /**
   * The id of a client that was registered beforehand, or the https URL of a client metadata document. Default: the
   * client is registered by the first connection.
   */
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  /** The private key of a client that signs its requests (`private_key_jwt`), as PKCS#8 PEM. */
  readonly privateKey?: string | undefined
  /**
   * The issuer of the authorization server that credentials may go to. Default: the one that a person has accepted, or
   * signed in to. A server that names another one is held back.
   */
  readonly issuer?: string | undefined
  /** The scopes to ask for, with spaces between. Default: those that the server names. */
  readonly scope?: string | undefined
}

/** A server as its connection knows it. Plain data, which crosses RPC. */
export interface Target {
  readonly name: string
  readonly url: string
  readonly oauth: OAuthConfig
  /** Where authorization servers send people back to: `/connections/callback` of the edge. */
  readonly callback: string | undefined
}
