import { base64Url } from './base64-url.ts'

const LIFETIME_S = 120

/** The signature algorithms for which a key is tried, each with what WebCrypto calls it. */
const ALGORITHMS = [
  ['ES256', { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }],
  ['RS256', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
  ['EdDSA', { name: 'Ed25519' }],
] as const

/** Signs the assertion by which a client proves who it is (RFC 7523). Rejects for a key that is not PKCS#8 PEM. */
export async function signAssertion(
  privateKey: string,
  { clientId, audience }: { readonly clientId: string; readonly audience: string },
): Promise<string> {
  const { alg, key, algorithm } = await importKey(privateKey)
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: clientId, sub: clientId, aud: audience, jti: crypto.randomUUID(), iat: now }
  const text = `${encode({ alg, typ: 'JWT' })}.${encode({ ...claims, exp: now + LIFETIME_S })}`
  const signature = await crypto.subtle.sign(algorithm, key, new TextEncoder().encode(text))
  return `${text}.${base64Url(new Uint8Array(signature))}`
}

async function importKey(pem: string) {
  const bytes = Uint8Array.from(atob(pem.replaceAll(/-----[^-]+-----|\s/g, '')), (character) => character.charCodeAt(0))
  for (const [alg, algorithm] of ALGORITHMS) {
    const key = await crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign']).catch(() => undefined)
    if (key) return { alg, key, algorithm }
  }
  throw new Error('the private key is not one of ES256, RS256 or EdDSA as PKCS#8 PEM')
}

function encode(value: object): string {
  return base64Url(new TextEncoder().encode(JSON.stringify(value)))
}
