import { type CopyPlace, PARTS_FORMAT } from '../../contract/backup.ts'
import { fromBase64Url, toBase64Url, toHex } from '../../contract/bytes.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import type { Signer } from '../../contract/signer.ts'

/** The conversation that a copy is of. */
interface CopySubject {
  readonly tenant: string
  readonly id: string
}

/** A part of a copy, or a whole one, as a caller gets it. */
export interface SignedCopy {
  readonly body: Uint8Array<ArrayBuffer>
  readonly lastLine: Uint8Array<ArrayBuffer>
  /** The place that its last line names; undefined for the last part. */
  readonly next: CopyPlace | undefined
}

/**
 * Adds to the last line of a copy the place at which its next part begins, and the signature of all of it. A signature
 * counts for the tenant, and for the id, the number and the digest of the part before that the first line names. Without
 * a signer there is none.
 */
export async function signCopy(
  { copy, next }: { readonly copy: Uint8Array<ArrayBuffer>; readonly next?: Omit<CopyPlace, 'digest'> | undefined },
  subject: CopySubject,
  signer: Signer | undefined,
): Promise<SignedCopy> {
  const { body, head, end } = partsOf(copy)
  const digest = await digestOf(body)
  const place = next && { ...next, digest }
  const fields = { ...end, ...(place && { next: await encodePlace(place, subject, signer) }) }
  const signature = await signer?.sign(textOf({ head, end: fields, digest }, subject))
  const line = JSON.stringify({ ...fields, ...(signature && { signature }) })
  const lastLine = new Uint8Array(encoder.encode(`${line}\n`))
  return { body, lastLine, next: place }
}

/** What the edge reads in a copy, or a part of one, that a caller brings. */
interface CheckedCopy {
  /** SHA-256 of all but its last line, in hex. */
  readonly digest: string
  /** Whether this deployment made and signed it, of this tenant's conversation with this id. */
  readonly isSigned: boolean
  /** Whether no part follows it. */
  readonly isLast: boolean
}

export async function checkCopy(
  copy: Uint8Array<ArrayBuffer>,
  subject: CopySubject,
  signer: Signer | undefined,
): Promise<CheckedCopy> {
  const { body, head, end } = partsOf(copy)
  const digest = await digestOf(body)
  const { signature, next } = end
  const isOwn = typeof signature === 'string' && head['id'] === subject.id
  const isSigned = isOwn && (await signer?.isSigned(textOf({ head, end, digest }, subject), signature)) === true
  return { digest, isSigned, isLast: next === undefined }
}

const encoder = new TextEncoder()
const NEWLINE = 10

/** Returns the first and the last line of a copy, and what comes before the last. */
function partsOf(copy: Uint8Array<ArrayBuffer>) {
  const start = copy.lastIndexOf(NEWLINE, copy.byteLength - 2) + 1
  const body = copy.subarray(0, start)
  return { body, head: fieldsOf(body.subarray(0, body.indexOf(NEWLINE) + 1)), end: fieldsOf(copy.subarray(start)) }
}

function fieldsOf(line: Uint8Array): Readonly<Record<string, unknown>> {
  const value = parseJson(new TextDecoder().decode(line))
  return isObject(value) ? value : {}
}

async function digestOf(body: Uint8Array<ArrayBuffer>): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))
}

/**
 * The text that is signed. The number of rows is not in it, since a copy with another number is refused as incomplete; that
 * a part is the last one is, since otherwise the beginning of a copy would count as all of it.
 */
function textOf(
  { head, end, digest }: { readonly digest: string } & Record<'head' | 'end', Readonly<Record<string, unknown>>>,
  { tenant }: CopySubject,
): string {
  return head['format'] === PARTS_FORMAT
    ? `${tenant} ${digest} ${JSON.stringify(end['next'] ?? '')}`
    : `${tenant} ${digest}`
}

/** Makes the text of `next`: a place as base64url of JSON, and its signature. */
async function encodePlace(place: CopyPlace, subject: CopySubject, signer: Signer | undefined): Promise<string> {
  const payload = toBase64Url(encoder.encode(JSON.stringify(place)))
  return `${payload}.${(await signer?.sign(placeText(payload, subject))) ?? ''}`
}

/** Reads such a text; undefined for one that was not made for this conversation, was changed, or has another shape. */
export async function readPlace(
  text: string,
  subject: CopySubject,
  signer: Signer | undefined,
): Promise<CopyPlace | undefined> {
  const [, payload = '', signature = ''] = /^([\w-]+)\.([\w-]*)$/.exec(text) ?? []
  if (signer && !(await signer.isSigned(placeText(payload, subject), signature))) return undefined
  const place = parseJson(new TextDecoder().decode(fromBase64Url(payload)))
  return isPlace(place) ? place : undefined
}

function placeText(payload: string, { tenant, id }: CopySubject): string {
  return JSON.stringify(['place', tenant, id, payload])
}

/** Without a signer, the caller may have written it. */
function isPlace(value: unknown): value is CopyPlace {
  if (!isObject(value) || !isObject(value['mark'])) return false
  const { part, digest, table, after, texts, shape, mark } = value
  const { created, place, run, open } = mark
  const isRun = (each: unknown) => Array.isArray(each) && each.length === 4 && each.every(Number.isSafeInteger)
  return (
    [part, texts, created, place].every((count) => Number.isSafeInteger(count) && Number(count) >= 0) &&
    [digest, table, run].every((text) => typeof text === 'string') &&
    (shape === undefined || typeof shape === 'string') &&
    Array.isArray(open) &&
    open.every(isRun) &&
    Array.isArray(after) &&
    after.length <= 2 &&
    after.every((key) => typeof key === 'string' || Number.isSafeInteger(key))
  )
}
