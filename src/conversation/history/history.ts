import { messageOf } from '../../contract/thrown.ts'
import type { ContextReduction, PlacedMessage } from '../../contract/context.ts'
import type { ConversationSettings, StoredMessage, WindowOptions } from '../../contract/conversation.ts'
import type { ToolCall, ToolMessage } from '../../contract/message.ts'
import type { Setup } from '../../contract/setup.ts'
import { replayRecord } from '../run/replay.ts'
import { type MessageTable, positionOf } from '../store/messages.ts'
import type { Store } from '../store/store.ts'
import { outlineOf } from '../../loop/window/shorten.ts'
import { WINDOW, windowOf } from '../../loop/window/sliding.ts'
import { tokensOf } from '../../loop/window/count.ts'

/** The most system messages that are still shown from turns before those that are read. */
const MOST_SYSTEM = 8

/** How a model sees the turns before a run. */
export interface HistoryView {
  readonly options: WindowOptions
  /** Whether the options were set: the newest turns within them are shown, and no others. */
  readonly isSliding: boolean
  /** The reduction in force, unless the window slides. */
  readonly reduction?: ContextReduction | undefined
}

/**
 * Returns the messages of the turns before a run that a model sees. Reads no further back than the turn at which the
 * window ends, or the reduction in force. `from`: the position at which a sliding window begins; of earlier messages,
 * only system messages are shown.
 */
export function historyBefore(
  messages: MessageTable,
  place: number,
  { options, isSliding, reduction }: HistoryView,
): RepairedHistory & { readonly from: number } {
  if (options.show === 'none') return { ...repair([]), from: 0 }
  const first = reduction ? Math.min(reduction.turn ?? reduction.from, reduction.from) : 0
  const selection = options.show === 'all' ? 'current' : 'answers'
  const newest: StoredMessage[] = []
  let tokens = 0
  let hasOlder = false
  for (const message of messages.newest(positionOf(place), selection)) {
    if (message.position < first) break
    // A turn is always read back to its beginning, whatever its length.
    const isOver = newest.length >= options.messages || tokens > options.tokens
    hasOlder = isOver && message.run !== newest.at(-1)?.run
    if (hasOlder) break
    newest.push(message)
    tokens += tokensOf(message.message)
  }
  // What is older is about to be reduced. It is read so that notes tell of it, and takes as little memory as they do.
  if (hasOlder && !isSliding) {
    for (const { message, ...rest } of messages.between(first, newest.at(-1)?.position ?? 0, selection))
      newest.push({ ...rest, message: outlineOf(message) })
  }
  const oldest = newest.at(-1)?.position ?? Math.min(first, positionOf(place))
  const system = messages.system(oldest, MOST_SYSTEM)
  const window = isSliding
    ? windowOf(newest.reverse(), options, system)
    : { messages: [...system, ...newest.reverse()], from: oldest }
  const { messages: history, ...repairs } = repair(window.messages)
  return { messages: history.map(tellInterruption), ...repairs, from: Math.min(window.from, positionOf(place)) }
}

const INTERRUPTED = '[This answer was interrupted here.]'

/** Marks an answer that was interrupted for the model, which would otherwise take it for a complete one. */
function tellInterruption(placed: PlacedMessage): PlacedMessage {
  const { position, message } = placed
  if (message.role !== 'assistant' || !message.wasInterrupted) return placed
  return { position, message: { role: 'assistant', content: `${message.content}\n\n${INTERRUPTED}` } }
}

/** A history that models accept, and how many messages were dropped from it and filled in. */
interface RepairedHistory {
  readonly messages: readonly PlacedMessage[]
  readonly dropped: number
  readonly filled: number
}

/**
 * Ensures that every call has exactly one result, right after the calls and in their order: results without a call are
 * dropped, missing results are filled in as interrupted.
 */
export function repair(messages: readonly PlacedMessage[]): RepairedHistory {
  const history: PlacedMessage[] = []
  let dropped = 0
  let filled = 0
  for (let at = 0; at < messages.length; at++) {
    const placed = messages[at]
    if (!placed) continue
    const { message, position } = placed
    if (message.role === 'tool') {
      dropped += 1
      continue
    }
    history.push(placed)
    if (message.role !== 'assistant') continue
    const results = new Map<string, PlacedMessage>()
    const calls = message.calls ?? []
    for (let next = messages[at + 1]; next?.message.role === 'tool'; next = messages[at + 1]) {
      const { callId } = next.message
      if (results.has(callId) || !calls.some((call) => call.callId === callId)) dropped += 1
      else results.set(callId, next)
      at += 1
    }
    filled += calls.length - results.size
    history.push(...calls.map((call) => results.get(call.callId) ?? { position, message: interruptedResult(call) }))
  }
  return { messages: history, dropped, filled }
}

function interruptedResult({ callId, tool }: ToolCall): ToolMessage {
  const text = 'interrupted: the result of this call was lost; whether it took effect is unknown.'
  return { role: 'tool', callId, tool, ok: false, content: [{ type: 'text', text }] }
}

/** Streams a conversation as lines of JSON, each made only when it is read. */
export function exportStream(store: Store, settings: ConversationSettings): ReadableStream<Uint8Array> {
  const lines = linesOf(store, settings)
  const encoder = new TextEncoder()
  return new ReadableStream({
    type: 'bytes',
    pull: (controller) => {
      const { done, value } = lines.next()
      if (done) return controller.close()
      controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`))
    },
  })
}

function* linesOf(store: Store, settings: ConversationSettings): Generator<object> {
  yield { type: 'conversation', settings }
  yield* readable('runs', function* () {
    for (const { id, created } of store.runs.all())
      yield* readable(id, function* () {
        const run = replayRecord(store, id)
        if (run) yield { type: 'run', created, ...run }
      })
  })
  yield* readable('messages', function* () {
    for (const message of store.messages.all()) yield { type: 'message', ...message }
  })
}

/** Yields the lines of a part, and in place of those that cannot be read one that says why. */
function* readable(part: string, lines: () => Generator<object>): Generator<object> {
  try {
    yield* lines()
  } catch (error) {
    yield { type: 'damaged', part, reason: messageOf(error) }
  }
}

/** Returns how much a model sees of the turns before a run: as the conversation says, else the edge, else by default. */
export function windowOptions({ config }: Pick<Setup, 'config'>, store: Store): HistoryView {
  const configured = { ...config.window, ...store.settings().window }
  const { messages, tokens, show = 'all' } = configured
  const isSliding = messages !== undefined || tokens !== undefined || show !== 'all'
  return { options: { ...WINDOW, ...configured }, isSliding }
}
