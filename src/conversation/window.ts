import type { StoredMessage, WindowOptions } from '../contract/conversation.ts'
import type { Content, Message } from '../contract/message.ts'

export const WINDOW: WindowOptions = { messages: 200, tokens: 100_000, show: 'all' }

/**
 * The part of the earlier messages that a model sees: the newest turns, whole ones, up to the limits; so no result
 * stands without its call. A newest turn that is over them by itself is shown without its work. `system`, said before
 * those messages, stays in any case. All are in their order; a turn is what one run said.
 */
export function window(
  messages: readonly StoredMessage[],
  { messages: most, tokens, show }: WindowOptions,
  system: readonly StoredMessage[] = [],
): Message[] {
  if (show === 'none') return []
  const shown: Message[][] = []
  let room = most
  let tokensLeft = tokens
  for (const whole of turnsOf(messages).reverse()) {
    const turn = show === 'all' ? whole : whole.filter(isSaid)
    const cost = turn.reduce((sum, message) => sum + tokensOf(message), 0)
    const fits = turn.length <= room && cost <= tokensLeft
    if (fits) shown.unshift(turn)
    else shown.unshift(whole.filter(shown.length === 0 ? isSaid : (message) => message.role === 'system'))
    // What is older than a turn that does not fit is seen no more.
    room = fits ? room - turn.length : -1
    tokensLeft -= cost
  }
  return [...system.map(({ message }) => message), ...shown.flat()]
}

/** What one run said, turn by turn. */
function turnsOf(messages: readonly StoredMessage[]): Message[][] {
  const turns: Message[][] = []
  let run: string | undefined
  for (const { run: of, message } of messages) {
    if (of !== run) turns.push([])
    turns.at(-1)?.push(message)
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
