import { fromBase64Url, toBase64Url } from './bytes.ts'
import { parseJson } from './json.ts'

/** Signs texts with a secret of the deployment, and recognises what it has signed. */
export interface Signer {
  sign(text: string): Promise<string>
  isSigned(text: string, signature: string): Promise<boolean>
}

/** Makes the text that is signed of a token's payload. What else is in it must be the same when the token is read. */
type SignedText = (payload: string) => string

const itself: SignedText = (payload) => payload
const encoder = new TextEncoder()

/** The characters of a signature and of the dot before it. */
export const SIGNATURE_LENGTH = 44

/** Makes a token: a value as base64url of JSON, a dot, and a signature. Default of the text: the payload alone. */
export async function signToken(signer: Signer, value: unknown, textOf: SignedText = itself): Promise<string> {
  const payload = toBase64Url(encoder.encode(JSON.stringify(value)))
  return `${payload}.${await signer.sign(textOf(payload))}`
}

/** Reads the value of a token; undefined for one that was not made by the same secrets and text, or was changed. */
export async function readToken(signer: Signer, token: string, textOf: SignedText = itself): Promise<unknown> {
  const [, payload = '', signature = ''] = /^([\w-]+)\.([\w-]{43})$/.exec(token) ?? []
  if (payload === '' || !(await signer.isSigned(textOf(payload), signature))) return undefined
  return parseJson(new TextDecoder().decode(fromBase64Url(payload)))
}
