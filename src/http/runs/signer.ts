import { hmac, isEqualText, toBase64Url } from '../../contract/bytes.ts'
import { canonicalJson, isObject, sha256 } from '../../contract/json.ts'
import { readToken, SIGNATURE_LENGTH, type Signer, signToken } from '../../contract/signer.ts'
import type { Caller } from '../../contract/tool.ts'

/**
 * Signs texts with HMAC-SHA256. The first secret signs; what any of them has signed counts. `purpose` keeps a signature
 * from counting as one of anything else that is signed with the same secrets.
 */
export function makeSigner(secrets: readonly string[], purpose: string): Signer {
  const signWith = async (secret: string, text: string) =>
    toBase64Url(await hmac(encoder.encode(secret), `edgecall ${purpose} ${text}`))
  return {
    sign: async (text) => signWith(secrets[0] ?? '', text),
    isSigned: async (text, signature) => {
      for (const secret of secrets) if (isEqualText(await signWith(secret, text), signature)) return true
      return false
    },
  }
}

const encoder = new TextEncoder()

/** The call that a question is about. An answer counts for the same key, tool and arguments alone. */
export interface QuestionedCall {
  readonly caller: Caller
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** What an edge without sessions has to know of a question when its answers come. */
export interface QuestionState {
  /** The id of the call, which it keeps. */
  readonly call: string
  /** The names of what was asked for. Answers to anything else do not count. */
  readonly names: readonly string[]
  /** Whether the question is whether the call may be performed, and not one of the tool. */
  readonly isApproval: boolean
  /** Whether a person has allowed the call before. */
  readonly isApproved: boolean
  /** Whether a person was asked, and not the client. */
  readonly isOfPerson: boolean
  /** What the tool gets back. */
  readonly state?: string | undefined
}

/** A question that comes back with its answers. */
export interface SignedQuestion extends QuestionState {
  /** Names the question: no other has the same. */
  readonly id: string
  /** Until when it can be answered, in epoch milliseconds. */
  readonly expires: number
}

/** How long a person may take, in milliseconds. */
const LIFETIME_MS = 3_600_000

/** Makes the `requestState` of a question: its state as base64url of JSON, and the signature of that and of the call. */
export async function signState(signer: Signer, call: QuestionedCall, question: QuestionState): Promise<string> {
  return signToken(signer, { ...question, expires: Date.now() + LIFETIME_MS }, await stateText(call))
}

/** Reads a `requestState`; undefined for one that was not made for this call, was changed, or has expired. */
export async function readState(
  signer: Signer,
  call: QuestionedCall,
  text: string,
): Promise<SignedQuestion | undefined> {
  const fields = await readToken(signer, text, await stateText(call))
  if (!isState(fields) || fields.expires <= Date.now()) return undefined
  return { ...fields, id: await sha256(text.slice(0, -SIGNATURE_LENGTH)) }
}

/** What is signed holds what it was signed with: this is for the compiler. */
function isState(fields: unknown): fields is QuestionState & { readonly expires: number } {
  return isObject(fields) && typeof fields['expires'] === 'number' && Array.isArray(fields['names'])
}

async function stateText({ caller, tool, arguments: args }: QuestionedCall): Promise<(payload: string) => string> {
  const { tenant, key = '' } = caller
  const hash = await sha256(canonicalJson(args))
  return (payload) => JSON.stringify([payload, tenant, key, tool, hash])
}
