import type { DefinitionIssue } from '../contract/setup.ts'
import { parseEndpoint } from './endpoint.ts'
import type { StoredTool } from './stored.ts'

/**
 * Where stored HTTP tools may send requests, and the names of the secrets that may go there (`HTTP_TOOL_HOSTS`). A key
 * is a host (`api.example.com`: https, port 443), a host with its port, or a whole origin (`http://127.0.0.1:8080`).
 * A whole origin is the only way to plain http, IP addresses and hosts of a private network. Part of a deployment's
 * configuration, and so out of reach for whoever writes definitions.
 */
export type HttpToolHosts = Readonly<Record<string, readonly string[]>>

/** The secrets that may go to an origin, or undefined where no request may. */
function secretsFor(origin: URL, hosts: HttpToolHosts): readonly string[] | undefined {
  const granted = Object.entries(hosts).flatMap(([key, secrets]) => (grants(key, origin) ? [secrets] : []))
  return granted.length === 0 ? undefined : granted.flat()
}

function grants(key: string, origin: URL): boolean {
  if (key.includes('://')) return URL.canParse(key) && new URL(key).href === `${origin.origin}/`
  if (origin.protocol !== 'https:' || isPrivate(origin.hostname)) return false
  // A key that says more than host and port is no host, and grants nothing.
  return URL.canParse(`https://${key}`) && /^[^/?#@\\]+$/.test(key) && new URL(`https://${key}`).host === origin.host
}

/** Hosts that no name in public DNS has: addresses (a URL's parser has made every spelling of IPv4 plain), and local names. */
function isPrivate(hostname: string): boolean {
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname) || hostname.endsWith('.')) return true
  return !hostname.includes('.') || /\.(?:localhost|local|internal|intranet|lan|home\.arpa|onion)$/.test(hostname)
}

/** What keeps an HTTP tool from being called here: its origin, or a secret that may not go there. Empty for other kinds. */
export function checkHosts(stored: StoredTool, hosts: HttpToolHosts): DefinitionIssue[] {
  if (!('http' in stored)) return []
  const endpoint = parseEndpoint(stored.http.url)
  if (typeof endpoint === 'string') return [{ path: 'http.url', message: endpoint }]
  const { origin } = endpoint.base
  const granted = secretsFor(endpoint.base, hosts)
  if (!granted)
    return [{ path: 'http.url', message: `expected an origin that HTTP_TOOL_HOSTS allows, received ${origin}` }]
  return (stored.http.secrets ?? []).flatMap((secret, index) => {
    if (granted.includes(secret)) return []
    const message = `expected a secret that HTTP_TOOL_HOSTS allows for ${origin}, received ${secret}`
    return [{ path: `http.secrets.${index}`, message }]
  })
}
