import type { StoredMessage, WindowOptions } from '../contract/conversation.ts'
import type { Content, Message } from '../contract/message.ts'

export const WINDOW: WindowOptions = { messages: 200, tokens: 100_000, show: 'all', summary: false }

/**
 * The part of the earlier messages that a model sees: the newest turns, whole ones, up to the limits; so no result
 * stands without its call. A newest turn that is over them by itself is shown without its work. `system`, said before
 * those messages, stays in any case. All are in their order; a turn is what one run said.
 */
export function window(
  messages: readonly StoredMessage[],
  options: Omit<WindowOptions, 'summary'>,
  system: readonly StoredMessage[] = [],
): Message[] {
  return windowOf(messages, options, system).messages
}

/** The same, and the position of the first message that it shows whole: what comes before has left it. */
export function windowOf(
  messages: readonly StoredMessage[],
  { messages: most, tokens, show }: Omit<WindowOptions, 'summary'>,
  system: readonly StoredMessage[] = [],
): { readonly messages: Message[]; readonly from: number } {
  if (show === 'none') return { messages: [], from: 0 }
  const shown: Message[][] = []
  let room = most
  let tokensLeft = tokens
  let from = Number.MAX_SAFE_INTEGER
  for (const { position, said: whole } of turnsOf(messages).reverse()) {
    const turn = show === 'all' ? whole : whole.filter(isSaid)
    const cost = turn.reduce((sum, message) => sum + tokensOf(message), 0)
    const fits = turn.length <= room && cost <= tokensLeft
    if (!fits && shown.length > 0) {
      shown.unshift(whole.filter((message) => message.role === 'system'))
      room = 0
      continue
    }
    shown.unshift(fits ? turn : whole.filter(isSaid))
    from = position
    room = fits ? room - turn.length : 0
    tokensLeft -= cost
  }
  return { messages: [...system.map(({ message }) => message), ...shown.flat()], from }
}

interface Turn {
  /** That of its first message. */
  readonly position: number
  readonly said: Message[]
}

/** What one run said, turn by turn. */
function turnsOf(messages: readonly StoredMessage[]): Turn[] {
  const turns: Turn[] = []
  let run: string | undefined
  for (const { run: of, position, message } of messages) {
    if (of !== run) turns.push({ position, said: [] })
    turns.at(-1)?.said.push(message)
    run = of
  }
  return turns
}

function isSaid(message: Message): boolean {
  return message.role === 'assistant' ? message.calls === undefined : message.role !== 'tool'
}

/** Roughly what an image or a file costs, whatever its size. */
const TOKENS_A_FILE = 1000
const CHARACTERS_A_TOKEN = 4

/** About how many tokens a message is. */
export function tokensOf(message: Message): number {
  const { content } = message
  const parts: readonly Content[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  let characters = 0
  let files = 0
  for (const part of parts) {
    if (part.type === 'text') characters += part.text.length
    else files += 1
  }
  if (message.role === 'assistant') {
    characters += message.reasoning?.length ?? 0
    for (const call of message.calls ?? []) characters += call.tool.length + call.arguments.length
  }
  return files * TOKENS_A_FILE + Math.ceil(characters / CHARACTERS_A_TOKEN)
}
