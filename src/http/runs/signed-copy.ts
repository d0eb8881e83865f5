import { hexOf } from '../../contract/secret-forms.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import type { Signer } from '../../contract/signer.ts'

/** Adds to the last line of a copy the signature of all that comes before, for the tenant. */
export async function signCopy(copy: Uint8Array, tenant: string, signer: Signer): Promise<Uint8Array<ArrayBuffer>> {
  const { body, end } = partsOf(copy)
  const signature = await signer.sign(await signedText(body, tenant))
  const line = new TextEncoder().encode(`${JSON.stringify({ ...end, signature })}\n`)
  const signedCopy = new Uint8Array(body.byteLength + line.byteLength)
  signedCopy.set(body)
  signedCopy.set(line, body.byteLength)
  return signedCopy
}

/** Whether this deployment made and signed a copy, of this tenant's conversation with this id. */
export async function isSignedCopy(
  copy: Uint8Array,
  { tenant, id }: { readonly tenant: string; readonly id: string },
  signer: Signer | undefined,
): Promise<boolean> {
  const { body, end } = partsOf(copy)
  const { signature } = end
  if (!signer || typeof signature !== 'string') return false
  const head = jsonOf(body.subarray(0, body.indexOf(NEWLINE) + 1))
  return head['id'] === id && signer.isSigned(await signedText(body, tenant), signature)
}

const NEWLINE = 10

/** Returns the last line of a copy, and what comes before it. */
function partsOf(copy: Uint8Array): { readonly body: Uint8Array; readonly end: Readonly<Record<string, unknown>> } {
  const start = copy.lastIndexOf(NEWLINE, copy.byteLength - 2) + 1
  return { body: copy.subarray(0, start), end: jsonOf(copy.subarray(start)) }
}

function jsonOf(line: Uint8Array): Readonly<Record<string, unknown>> {
  const value = parseJson(new TextDecoder().decode(line))
  return isObject(value) ? value : {}
}

/** Its number of rows need not be signed: a copy with another number is refused as incomplete. */
async function signedText(body: Uint8Array, tenant: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', body.slice())
  return `${tenant} ${hexOf(new Uint8Array(digest))}`
}
