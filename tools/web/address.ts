import { ToolError } from '../../src/tool.ts'

/** Names that no public DNS has. */
const LOCAL = /\.(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)$/

/**
 * The URL that a page may be read from, seen from `base` where it is a redirect's. Throws a ToolError unless it is https
 * on the standard port, with no user name, at a name of public DNS: no address of any spelling (a URL's parser makes
 * every IPv4 plain), no single label, no trailing dot, nothing local. What a public name resolves to is for the network
 * to guard: that of Cloudflare reaches no private address.
 */
export function checkAddress(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base) : undefined
  if (url && isPublic(url)) {
    url.hash = ''
    return url
  }
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text
  const what = base ? `The page at ${base.host} leads to "${shown}", which` : `"${shown}"`
  const message = `${what} cannot be read: send the https address of a public page, such as "https://example.com/".`
  throw new ToolError(message, { code: 'page_refused' })
}

const MOST_SHOWN = 200

function isPublic({ protocol, username, password, port, hostname }: URL): boolean {
  if (protocol !== 'https:' || port !== '' || username !== '' || password !== '') return false
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname) || hostname.endsWith('.')) return false
  return hostname.includes('.') && !LOCAL.test(hostname)
}
