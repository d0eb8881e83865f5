import type { Opaque } from '../../contract/message.ts'
import { objectsOf } from '../fields.ts'
import { keptBy } from '../kept.ts'

/** What a provider said beside a part of its answer, and wants back with it, such as `{ anthropic: { signature } }`. */
type ProviderData = Readonly<Record<string, unknown>>

/** A text, or some reasoning, by its length: the message has it. */
export interface OpenText {
  readonly type: 'text' | 'reasoning'
  length: number
  data?: ProviderData
}

/** A call by its index, with the id that its provider knows it by. */
export interface OpenCall {
  readonly call: number
  readonly id: string
  readonly tool: string
  arguments?: string
  data?: ProviderData
}

const CODEC = 'ai-sdk'

/** What must come back with an answer of these parts, or undefined where its provider said nothing beside them. */
export function toOpaque(parts: readonly (OpenText | OpenCall)[]): Opaque | undefined {
  if (!parts.some(({ data }) => data)) return undefined
  const kept = parts.map((part) => {
    const data = part.data && { data: part.data }
    return 'call' in part ? { call: part.call, id: part.id, ...data } : { [part.type]: part.length, ...data }
  })
  return { codec: CODEC, data: kept }
}

/** What was kept of an earlier answer; nothing, where this codec kept nothing. */
export function keptIn(opaque: Opaque | undefined): readonly Readonly<Record<string, unknown>>[] {
  return objectsOf(keptBy(CODEC, opaque))
}
