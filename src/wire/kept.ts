import type { Opaque } from '../contract/message.ts'

/** What a codec kept of an earlier answer as a list; empty where it kept none, or another codec did. */
export function keptBy(codec: string, opaque: Opaque | undefined): readonly unknown[] {
  return opaque?.codec === codec && Array.isArray(opaque.data) ? opaque.data : []
}
