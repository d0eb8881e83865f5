import type { DefinitionIssue } from '../../contract/definition.ts'
import { isPrivate } from '../../contract/private-host.ts'
import type { HttpCall } from './definition.ts'
import { parseEndpoint } from './endpoint.ts'

/**
 * The hosts that stored HTTP tools may reach, each with the names of the secrets that may go there (`HTTP_TOOL_HOSTS`).
 * A key is a host (`api.example.com`: https, port 443), a host with its port, or a whole origin
 * (`http://127.0.0.1:8080`). Plain http, IP addresses and hosts of a private network take a whole origin. This is part
 * of a deployment's configuration, which authors of definitions cannot change.
 */
export type HttpToolHosts = Readonly<Record<string, readonly string[]>>

/** Returns why this deployment does not send a request: its origin, or a secret that may not go there. */
export function checkHosts({ url, secrets = [] }: HttpCall, hosts: HttpToolHosts): DefinitionIssue[] {
  const endpoint = parseEndpoint(url)
  if (typeof endpoint === 'string') return [{ path: 'http.url', message: `expected ${endpoint}` }]
  const { origin } = endpoint.base
  const secretNames = grantedSecrets(endpoint.base, hosts)
  if (!secretNames) {
    return [{ path: 'http.url', message: `expected an origin that HTTP_TOOL_HOSTS allows, received ${origin}` }]
  }
  return secrets.flatMap((secret, index) => {
    if (secretNames.includes(secret)) return []
    const message = `expected a secret that HTTP_TOOL_HOSTS allows for ${origin}, received ${secret}`
    return [{ path: `http.secrets.${index}`, message }]
  })
}

/** Returns the names of the secrets that may go to an origin, or undefined if no request may. */
export function grantedSecrets(base: URL, hosts: HttpToolHosts): readonly string[] | undefined {
  const matchingHosts = Object.entries(hosts).filter(([key]) => grants(key, base))
  return matchingHosts.length === 0 ? undefined : matchingHosts.flatMap(([, names]) => names)
}

function grants(key: string, { origin, protocol, hostname, host }: URL): boolean {
  if (key.includes('://')) return URL.canParse(key) && new URL(key).href === `${origin}/`
  if (protocol !== 'https:' || isPrivate(hostname)) return false
  // A key that has more than a host and a port grants nothing.
  return URL.canParse(`https://${key}`) && /^[^/?#@\\]+$/.test(key) && new URL(`https://${key}`).host === host
}
