import { isObject } from '../contract/json.ts'
import type { AssistantMessage, Message, Opaque } from '../contract/message.ts'
import type { ModelEvent, ModelProvider } from '../contract/model.ts'
import type { Citation } from '../contract/provider-tool.ts'
import { addUsage, type Usage } from '../contract/usage.ts'
import { objectsOf } from '../wire/fields.ts'
import { errorEvent } from '../wire/provider/model-answer.ts'
import { badResponse } from '../wire/provider/model-error.ts'

/** How often an answer may pause. Each part of it can have made about ten uses of tools. */
const MOST_PAUSES = 10

/**
 * Makes models whose answers are whole: an answer that the provider has paused, since its own tools have taken long, is
 * sent back, and what it continues with is added. `join` makes the opaque data of several parts one.
 */
export function continuing(
  models: ModelProvider,
  join: (parts: readonly Opaque[]) => Opaque | undefined,
): ModelProvider {
  return (name) => {
    const model = models(name)
    return {
      ...model,
      stream: (request, signal, onRetry) =>
        wholeAnswer((messages) => model.stream({ ...request, messages }, signal, onRetry), request.messages, join),
    }
  }
}

async function* wholeAnswer(
  ask: (messages: readonly Message[]) => AsyncIterable<ModelEvent>,
  messages: readonly Message[],
  join: (parts: readonly Opaque[]) => Opaque | undefined,
): AsyncGenerator<ModelEvent, void> {
  const parts: Opaque[] = []
  const citations: Citation[] = []
  let text = ''
  let usage: Usage | undefined
  for (let pauses = 0; pauses <= MOST_PAUSES; pauses += 1) {
    const opaque = join(parts)
    const answer: AssistantMessage = { role: 'assistant', content: text, opaque }
    const textBefore = text.length
    let isPaused = false
    for await (const event of ask(pauses > 0 ? [...messages, answer] : messages)) {
      if (event.type === 'text') text += event.text
      if (event.type !== 'finish') {
        yield event.type === 'provider.call' ? withInput(event, parts) : event
        continue
      }
      const { isPaused: pause, opaque: part, citations: own = [], usage: used, ...end } = event
      isPaused = pause === true
      // A text without opaque data has a place among those with it.
      parts.push(part ?? { codec: '', data: [text.length - textBefore] })
      citations.push(...own.map((each) => moved(each, textBefore)))
      if (used) usage = usage ? addUsage(usage, used) : used
      if (isPaused) continue
      const wholeOpaque = join(parts)
      yield {
        ...end,
        usage,
        opaque: wholeOpaque,
        ...(citations.length > 0 && { citations }),
      }
    }
    if (!isPaused) return
  }
  yield errorEvent(badResponse(`The model paused its answer more than ${MOST_PAUSES} times.`))
}

type ProviderEvent = Extract<ModelEvent, { type: 'provider.call' }>

/** Adds the input of a use that was in an earlier part, if its result comes only now. */
function withInput(event: ProviderEvent, parts: readonly Opaque[]): ProviderEvent {
  const use = parts.flatMap(({ data }) => objectsOf(data)).find(({ id }) => id === event.id)
  return use && isObject(use.input) ? { ...event, input: use.input } : event
}

function moved({ start, end, ...citation }: Citation, by: number): Citation {
  return {
    ...citation,
    ...(start !== undefined && { start: start + by }),
    ...(end !== undefined && { end: end + by }),
  }
}
