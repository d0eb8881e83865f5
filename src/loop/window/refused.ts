import type { PlacedMessage } from '../../contract/context.ts'
import type { Message, PartRefusal, UserContent } from '../../contract/message.ts'
import type { RunState } from '../state.ts'

/** A part that a server may refuse. */
export type ItemPart = Exclude<UserContent, { readonly type: 'text' }>

/** Returns the size of a file's data, or of its address. */
export function sizeOfFile(part: ItemPart): number {
  return ('url' in part ? part.url : part.data).length
}

/** Returns the size of what a provider wants back with an answer. */
export function sizeOfOpaque(opaque: object): number {
  return JSON.stringify(opaque).length
}

const shortMessages = new WeakMap<Message, { readonly key: string; readonly message: Message }>()

/**
 * Returns a message without the parts that a server has refused, each with a note in its place. Texts are never left out.
 * It is the same object for the same message and parts, so that a codec can encode it once.
 */
export function withoutRefused(placed: PlacedMessage, refusals: readonly PartRefusal[]): PlacedMessage {
  const { position, message } = placed
  const own = refusals.filter((part) => part.position === position)
  if (own.length === 0) return placed
  const key = JSON.stringify(own)
  let entry = shortMessages.get(message)
  if (entry?.key !== key) shortMessages.set(message, (entry = { key, message: leaveOut(message, own) }))
  return { position, message: entry.message }
}

function leaveOut(message: Message, refusals: readonly PartRefusal[]): Message {
  if (message.role === 'assistant') {
    const { opaque, reasoning: _, ...rest } = message
    const isRefused = opaque && refusals.some(({ part, size }) => part === 'opaque' && size === sizeOfOpaque(opaque))
    return isRefused ? rest : message
  }
  if (message.role === 'system' || typeof message.content === 'string') return message
  const noteFor = (part: UserContent, index: number) => {
    if (part.type === 'text') return undefined
    const match = refusals.find((each) => each.part === index && each.size === sizeOfFile(part))
    return match && { type: 'text' as const, text: noteOf(part, match) }
  }
  if (message.role === 'user')
    return { ...message, content: message.content.map((part, index) => noteFor(part, index) ?? part) }
  return { ...message, content: message.content.map((part, index) => noteFor(part, index) ?? part) }
}

function noteOf({ type, mediaType }: ItemPart, { reason }: PartRefusal): string {
  return `[${type}: ${mediaType}, left out, since the server of the model refused it: ${reason}]`
}

/** Adds parts of messages that the server of the model has refused. */
export function addRefusals(state: RunState, refusals: readonly PartRefusal[] = []): void {
  if (refusals.length === 0) return
  state.refusals = [...state.refusals, ...refusals]
  if (state.step) state.step.refusalCount = (state.step.refusalCount ?? 0) + 1
}
