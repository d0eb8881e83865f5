import { fromBase64, hmac, isEqualText, toBase64 } from '../contract/bytes.ts'
import { isObject, parseShallow } from '../contract/json.ts'

/**
 * Returns a body of Microsoft Graph with the content of its notifications decrypted: the resource itself is their
 * `resourceData`, in place of `encryptedContent`. Undefined if one of them was not encrypted for one of the keys, or not
 * as it was signed. `keys` are private keys in PEM (PKCS #8).
 * https://learn.microsoft.com/graph/change-notifications-with-resource-data
 */
export async function decryptNotifications(body: unknown, keys: readonly string[]): Promise<unknown> {
  if (!isObject(body) || !Array.isArray(body['value'])) return body
  const owners = await Promise.all(keys.map(importKey))
  const value: unknown[] = []
  for (const notification of body['value']) {
    const { encryptedContent, ...rest } = isObject(notification) ? notification : {}
    const resourceData = isObject(encryptedContent) ? await decrypt(encryptedContent, owners) : undefined
    if (encryptedContent !== undefined && resourceData === undefined) return undefined
    value.push(encryptedContent === undefined ? notification : { ...rest, resourceData })
  }
  return { ...body, value }
}

function importKey(pem: string): Promise<CryptoKey> {
  const der = fromBase64(pem.replaceAll(/-----[A-Z ]+-----|\s|\\n/g, ''))
  if (!der) throw new Error('The private key is not PEM.')
  return crypto.subtle.importKey('pkcs8', der, { name: 'RSA-OAEP', hash: 'SHA-1' }, false, ['decrypt'])
}

async function decrypt(content: Readonly<Record<string, unknown>>, owners: readonly CryptoKey[]): Promise<unknown> {
  const [data, dataKey] = [content['data'], content['dataKey']].map((text) => fromBase64(String(text)))
  if (!data || !dataKey) return undefined
  for (const owner of owners) {
    try {
      const secret = new Uint8Array(await crypto.subtle.decrypt({ name: 'RSA-OAEP' }, owner, dataKey))
      if (!isEqualText(toBase64(await hmac(secret, data)), String(content['dataSignature']))) continue
      const key = await crypto.subtle.importKey('raw', secret, { name: 'AES-CBC' }, false, ['decrypt'])
      const plain = await crypto.subtle.decrypt({ name: 'AES-CBC', iv: secret.subarray(0, 16) }, key, data)
      return parseShallow(new TextDecoder().decode(plain))
    } catch {
      // It was encrypted for another key.
    }
  }
  return undefined
}
