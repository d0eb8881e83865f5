import type { ReportAddresses, ReportedCall } from '../../contract/later.ts'
import type { SecretFilter } from '../../contract/secrets.ts'

export interface ReportAddressOptions {
  /** The first one signs; tokens that any of them has signed are accepted. At least one. */
  readonly secrets: readonly string[]
  /** The public address of the edge, such as `https://edge.example.com`. Default: tokens alone are made. */
  readonly edgeUrl?: string | undefined
  /** Removes the edge's own secrets from reports. */
  readonly filter: SecretFilter | undefined
}

/**
 * Makes the addresses to which tools report: `/outcomes/<token>`. A token names a call and when it expires, as base64url
 * of JSON, and has the HMAC-SHA256 of that, so that a wrong one is refused without waking any conversation.
 */
export function reportAddresses({ secrets, edgeUrl, filter }: ReportAddressOptions): ReportAddresses {
  return {
    filter,
    make: async ({ tenant, conversation = '', run, call, expires }) => {
      const payload = toBase64Url(encoder.encode(JSON.stringify([tenant, conversation, run, call, expires])))
      const [secret = ''] = secrets
      const signature = await crypto.subtle.sign('HMAC', await keyOf(secret), signedBytes(payload))
      const token = `${payload}.${toBase64Url(new Uint8Array(signature))}`
      return { token, ...(edgeUrl !== undefined && { url: `${edgeUrl}/outcomes/${token}` }) }
    },
    read: async (token) => {
      const [, payload, signature] = /^([\w-]{1,1024})\.([\w-]{43})$/.exec(token) ?? []
      if (payload === undefined || signature === undefined) return undefined
      for (const secret of secrets) {
        // Compares in constant time.
        const isSigned = await crypto.subtle.verify(
          'HMAC',
          await keyOf(secret),
          fromBase64Url(signature),
          signedBytes(payload),
        )
        if (isSigned) return callOf(JSON.parse(new TextDecoder().decode(fromBase64Url(payload))))
      }
      return undefined
    },
  }
}

function callOf([tenant, conversation, run, call, expires]: readonly [
  string,
  string,
  string,
  string,
  number,
]): ReportedCall {
  return { tenant, ...(conversation !== '' && { conversation }), run, call, expires }
}

const encoder = new TextEncoder()

/** Keeps a signature from counting as one of anything else that is signed with the same secret. */
function signedBytes(payload: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(encoder.encode(`edgecall outcome ${payload}`))
}

function keyOf(secret: string): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ])
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
}
