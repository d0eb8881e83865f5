/** Returns whether a host is not a public DNS name: an address (URL parsing normalises IPv4), or a local name. */
export function isPrivate(hostname: string): boolean {
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname) || hostname.endsWith('.')) return true
  return !hostname.includes('.') || /\.(?:localhost|local|internal|intranet|lan|home\.arpa|onion)$/.test(hostname)
}
