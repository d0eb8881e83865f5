import type { Opaque } from '../../../contract/message.ts'
import { objectsOf } from '../../fields.ts'
import { opaqueDataOf } from '../opaque.ts'

/** Data that a provider sends with a part of its answer and wants back, such as `{ anthropic: { signature } }`. */
type ProviderData = Readonly<Record<string, unknown>>

/** A text, or some reasoning, as its length: the text itself is in the message. */
export interface OpenText {
  readonly type: 'text' | 'reasoning'
  length: number
  data?: ProviderData
}

/** A call: its index, and the id that its provider gave it. */
export interface OpenCall {
  readonly call: number
  readonly id: string
  readonly tool: string
  arguments?: string
  data?: ProviderData
}

const CODEC = 'ai-sdk'

/** Returns the data that must go back with an answer of these parts; undefined if its provider sent none with them. */
export function aiSdkOpaque(parts: readonly (OpenText | OpenCall)[]): Opaque | undefined {
  if (!parts.some(({ data }) => data)) return undefined
  const opaqueParts = parts.map((part) => {
    const data = part.data && { data: part.data }
    return 'call' in part ? { call: part.call, id: part.id, ...data } : { [part.type]: part.length, ...data }
  })
  return { codec: CODEC, data: opaqueParts }
}

/** Returns the parts that this codec kept of an earlier answer; none if it kept nothing. */
export function opaquePartsOf(opaque: Opaque | undefined): readonly Readonly<Record<string, unknown>>[] {
  return objectsOf(opaqueDataOf(CODEC, opaque))
}
