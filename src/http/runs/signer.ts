import type { Signer } from '../../contract/signer.ts'

/**
 * Signs texts with HMAC-SHA256. The first secret signs; what any of them has signed counts. `purpose` keeps a signature
 * from counting as one of anything else that is signed with the same secrets.
 */
export function makeSigner(secrets: readonly string[], purpose: string): Signer {
  const bytesOf = (text: string) => encoder.encode(`edgecall ${purpose} ${text}`)
  return {
    sign: async (text) => {
      const [secret = ''] = secrets
      return toBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', await keyOf(secret), bytesOf(text))))
    },
    isSigned: async (text, signature) => {
      if (!/^[\w-]{43}$/.test(signature)) return false
      const bytes = fromBase64Url(signature)
      for (const secret of secrets) {
        // Compares in constant time.
        if (await crypto.subtle.verify('HMAC', await keyOf(secret), bytes, bytesOf(text))) return true
      }
      return false
    },
  }
}

const encoder = new TextEncoder()

function keyOf(secret: string): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ])
}

export function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
}
