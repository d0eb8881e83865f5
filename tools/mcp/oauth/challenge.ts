/** What a server says with a refusal, in `WWW-Authenticate` (RFC 6750, RFC 9728). */
export interface Challenge {
  readonly error?: string | undefined
  readonly scope?: string | undefined
  readonly resourceMetadata?: string | undefined
}

/** Reads the Bearer challenge of a `WWW-Authenticate` header. */
export function readChallenge(header: string | null | undefined): Challenge {
  const [, text = ''] = /(?:^|,\s*)Bearer\s+(.*)$/is.exec(header ?? '') ?? []
  const fields = new Map(
    [...text.matchAll(/([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi)].map(
      ([, name = '', quoted, token = '']) => [name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? token],
    ),
  )
  return { error: fields.get('error'), scope: fields.get('scope'), resourceMetadata: fields.get('resource_metadata') }
}

/** Joins texts of scopes; each scope once, in the order of their first mention. */
export function joinScopes(...texts: readonly (string | undefined)[]): string {
  return [...new Set(texts.flatMap((text) => (text ?? '').split(' ')))].filter((scope) => scope !== '').join(' ')
}

/** Whether a text of scopes has all those of another. */
export function hasScopes(text: string, others: string): boolean {
  const scopes = new Set(text.split(' '))
  return others.split(' ').every((scope) => scope === '' || scopes.has(scope))
}
