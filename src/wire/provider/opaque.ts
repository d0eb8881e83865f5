import type { Opaque } from '../../contract/message.ts'

/** Returns the list that a codec kept of an earlier answer; empty if it kept none, or if another codec did. */
export function opaqueDataOf(codec: string, opaque: Opaque | undefined): readonly unknown[] {
  return opaque?.codec === codec && Array.isArray(opaque.data) ? opaque.data : []
}
