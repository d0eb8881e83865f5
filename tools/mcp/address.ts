/** Names that no public DNS has. */
const LOCAL = /\.(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)$/
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/**
 * The address of a server, once it may be asked: https on the standard port at a name of public DNS, without a user
 * name; or anything on loopback, which leads somewhere in development alone. Throws an Error for any other.
 */
export function checkAddress(text: string): string {
  if (URL.canParse(text)) {
    const url = new URL(text)
    const isLoopback = LOOPBACK.includes(url.hostname) && /^https?:$/.test(url.protocol)
    if (url.username === '' && url.password === '' && (isLoopback || isPublic(url))) return url.href
  }
  throw new Error(`MCP_SERVERS: "${text}" is no https address of a public server`)
}

function isPublic({ protocol, port, hostname }: URL): boolean {
  if (protocol !== 'https:' || port !== '') return false
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname) || hostname.endsWith('.')) return false
  return hostname.includes('.') && !LOCAL.test(hostname)
}
