import type { ConversationSettings } from '../../contract/conversation.ts'
import { replayRecord } from '../run/replay.ts'
import type { Store } from '../store/store.ts'

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
  for (const { id, created } of store.runs.all()) {
    const run = replayRecord(store, id)
    if (run) yield { type: 'run', created, ...run }
  }
  for (const message of store.messages.all()) yield { type: 'message', ...message }
}
