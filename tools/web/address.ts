import { ToolError } from 'edgecall/tool'

/** Host names under top-level domains that public DNS does not have. */
const LOCAL = /\.(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)$/

/**
 * Parses the address of a page, or the location of a redirect relative to `base`, and drops its fragment. Throws a
 * ToolError unless the URL is https on the standard port, without credentials, at a public DNS name: no IP address (the
 * URL parser normalizes every spelling of IPv4), no single label, no trailing dot, no local domain. The network must
 * guard against public names that resolve to private addresses: Cloudflare's reaches none.
 */
export function checkAddress(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base) : undefined
  if (url && isPublic(url)) {
    url.hash = ''
    return url
  }
  const excerpt = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text
  const what = base ? `The page at ${base.host} leads to "${excerpt}", which` : `"${excerpt}"`
  const message = `${what} cannot be read: send the https address of a public page, such as "https://example.com/".`
  throw new ToolError(message, { code: 'page_refused' })
}

const MOST_SHOWN = 200

function isPublic({ protocol, username, password, port, hostname }: URL): boolean {
  if (protocol !== 'https:' || port !== '' || username !== '' || password !== '') return false
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname) || hostname.endsWith('.')) return false
  return hostname.includes('.') && !LOCAL.test(hostname)
}
