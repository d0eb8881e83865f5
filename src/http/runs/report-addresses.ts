import type { ReportAddresses, ReportedCall } from '../../contract/later.ts'
import type { SecretFilter } from '../../contract/secrets.ts'
import { fromBase64Url, makeSigner, toBase64Url } from './signer.ts'

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
  const signer = makeSigner(secrets, 'outcome')
  return {
    filter,
    make: async ({ tenant, conversation = '', run, call, expires }) => {
      const payload = toBase64Url(new TextEncoder().encode(JSON.stringify([tenant, conversation, run, call, expires])))
      const token = `${payload}.${await signer.sign(payload)}`
      return { token, ...(edgeUrl !== undefined && { url: `${edgeUrl}/outcomes/${token}` }) }
    },
    read: async (token) => {
      const [, payload, signature] = /^([\w-]{1,1024})\.([\w-]{43})$/.exec(token) ?? []
      if (payload === undefined || signature === undefined || !(await signer.isSigned(payload, signature)))
        return undefined
      return callOf(JSON.parse(new TextDecoder().decode(fromBase64Url(payload))))
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
