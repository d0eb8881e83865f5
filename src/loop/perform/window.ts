import type { StoredMessage, WindowOptions } from '../../contract/conversation.ts'
import type { UserContent, Message } from '../../contract/message.ts'

export const WINDOW: WindowOptions = { messages: 200, tokens: 100_000, show: 'all', summary: false }

/**
 * Returns the part of the earlier messages that a model sees: the newest complete turns within the limits, so that no
 * result appears without its call. A turn is what one run added. If the newest turn alone exceeds the limits, it is
 * shown without its calls and results. System messages are always included; `system` are those before `messages`. All
 * lists are in order.
 */
export function window(
  messages: readonly StoredMessage[],
  options: Omit<WindowOptions, 'summary'>,
  system: readonly StoredMessage[] = [],
): Message[] {
  return windowOf(messages, options, system).messages
}

/** As `window`, with the position at which the window begins; of earlier messages, it has only system messages. */
export function windowOf(
  messages: readonly StoredMessage[],
  { messages: most, tokens, show }: Omit<WindowOptions, 'summary'>,
  system: readonly StoredMessage[] = [],
): { readonly messages: Message[]; readonly from: number } {
  if (show === 'none') return { messages: [], from: 0 }
  const visibleTurns: Message[][] = []
  let room = most
  let tokensLeft = tokens
  let from = Number.MAX_SAFE_INTEGER
  for (const { position, messages: fullTurn } of turnsOf(messages).reverse()) {
    const turn = show === 'all' ? fullTurn : fullTurn.filter(isConversational)
    const cost = turn.reduce((sum, message) => sum + tokensOf(message), 0)
    const fits = turn.length <= room && cost <= tokensLeft
    if (!fits && visibleTurns.length > 0) {
      visibleTurns.unshift(fullTurn.filter((message) => message.role === 'system'))
      room = 0
      continue
    }
    visibleTurns.unshift(fits ? turn : fullTurn.filter(isConversational))
    from = position
    room = fits ? room - turn.length : 0
    tokensLeft -= cost
  }
  return { messages: [...system.map(({ message }) => message), ...visibleTurns.flat()], from }
}

interface Turn {
  /** The position of its first message. */
  readonly position: number
  readonly messages: Message[]
}

/** Groups messages into turns, one per run. */
function turnsOf(messages: readonly StoredMessage[]): Turn[] {
  const turns: Turn[] = []
  let run: string | undefined
  for (const { run: runOfMessage, position, message } of messages) {
    if (runOfMessage !== run) turns.push({ position, messages: [] })
    turns.at(-1)?.messages.push(message)
    run = runOfMessage
  }
  return turns
}

function isConversational(message: Message): boolean {
  return message.role === 'assistant' ? message.calls === undefined : message.role !== 'tool'
}

/** A rough cost of an image or a file, whatever its size. */
const TOKENS_A_FILE = 1000
const CHARACTERS_A_TOKEN = 4

/** Estimates the number of tokens of a message. */
export function tokensOf(message: Message): number {
  const { content } = message
  const parts: readonly UserContent[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
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
