/** Host names under top-level domains that public DNS does not have. */
const LOCAL = /\.(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)$/
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** Whether an address is on this machine, where something answers in development only. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.includes(new URL(address).hostname)
}

/**
 * Checks and normalizes the address of a server: https on the standard port at a public DNS name, without credentials;
 * or http(s) on loopback, where something answers in development only. Throws an Error for any other address, which
 * begins with `subject`.
 */
export function checkAddress(text: string, subject = 'MCP_SERVERS'): string {
  if (URL.canParse(text)) {
    const url = new URL(text)
    const isLocal = LOOPBACK.includes(url.hostname) && /^https?:$/.test(url.protocol)
    if (url.username === '' && url.password === '' && (isLocal || isPublic(url))) return url.href
  }
  throw new Error(`${subject}: "${text}" is not an https address of a public server`)
}

function isPublic({ protocol, port, hostname }: URL): boolean {
  if (protocol !== 'https:' || port !== '') return false
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname) || hostname.endsWith('.')) return false
  return hostname.includes('.') && !LOCAL.test(hostname)
}
