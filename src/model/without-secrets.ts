import type { ChatModel, ModelEvent } from '../contract/model.ts'
import type { SecretFilter, TextPieces } from '../contract/secrets.ts'

/** A run of events whose texts belong together: one text, one reasoning, or the arguments of one call. */
interface OpenText {
  readonly of: string
  readonly pieces: TextPieces
  /** Makes the event with what was held back of the text. */
  readonly last: (text: string) => ModelEvent
}

/** Makes a model whose answers contain none of the secrets, wherever its events cut one. */
export function withoutSecrets(model: ChatModel, secrets: SecretFilter): ChatModel {
  return {
    ...model,
    stream: (request, signal, onRetry) => cleanEvents(model.stream(request, signal, onRetry), secrets),
  }
}

async function* cleanEvents(events: AsyncIterable<ModelEvent>, secrets: SecretFilter): AsyncGenerator<ModelEvent> {
  let open: OpenText | undefined
  for await (const event of events) {
    const of = event.type === 'call.delta' ? `${event.type} ${event.index}` : event.type
    if (open && open.of !== of) {
      const rest = open.pieces.rest()
      if (rest !== '') yield open.last(rest)
      open = undefined
    }
    switch (event.type) {
      case 'text':
      case 'reasoning': {
        const { type } = event
        open ??= { of, pieces: secrets.pieces(), last: (text) => ({ type, text }) }
        const text = open.pieces.add(event.text)
        if (text === event.text) yield event
        else if (text !== '') yield { type, text }
        break
      }
      case 'call.delta': {
        const { type, index } = event
        open ??= { of, pieces: secrets.pieces(), last: (text) => ({ type, index, arguments: text }) }
        const text = open.pieces.add(event.arguments)
        const { tool } = event
        if (text !== '' || tool !== undefined) {
          yield { ...event, arguments: text, ...(tool !== undefined && { tool: secrets.text(tool) }) }
        }
        break
      }
      case 'call':
        yield { ...event, tool: secrets.text(event.tool), arguments: secrets.text(event.arguments) }
        break
      case 'finish':
        yield event.opaque === undefined ? event : { ...event, opaque: secrets.json(event.opaque) }
        break
      case 'error':
        yield { ...event, error: { ...event.error, message: secrets.text(event.error.message) } }
        break
    }
  }
  const rest = open?.pieces.rest()
  if (open && rest) yield open.last(rest)
}
