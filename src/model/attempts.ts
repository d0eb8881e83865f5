import type { ModelError, ModelEvent } from '../contract/model.ts'

type Events = AsyncIterable<ModelEvent>
type Result = IteratorResult<ModelEvent, void>

/**
 * Makes one stream of several attempts. If the first event of an attempt is an error, `next` may return another attempt
 * in its place. If it returns none, or if the first event is not an error, the stream is that attempt's to the end. Later
 * events cost nothing: they come from the attempt's own iterator. `onAnswer` is called if the first event is not an error.
 */
export function attempts(
  first: () => Events,
  next: (error: ModelError, failures: number) => Events | undefined | Promise<Events | undefined>,
  onAnswer?: () => void,
): Events {
  return {
    [Symbol.asyncIterator]: () => {
      let attempt: AsyncIterator<ModelEvent, void> | undefined
      let hasBegun = false

      async function begin(): Promise<Result> {
        let events: Events | undefined = first()
        for (let failures = 1; ; failures += 1) {
          const iterator: AsyncIterator<ModelEvent, void> = events[Symbol.asyncIterator]()
          attempt = iterator
          const result: Result = await iterator.next()
          const failed = !result.done && result.value.type === 'error' ? result.value.error : undefined
          if (!failed && !result.done) onAnswer?.()
          events = failed && (await next(failed, failures))
          if (!events) {
            hasBegun = true
            return result
          }
          await iterator.return?.()
        }
      }

      return {
        next: () => (attempt && hasBegun ? attempt.next() : begin()),
        return: async () => {
          await attempt?.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** Makes a stream that has this error alone. */
export async function* failing(error: ModelError): AsyncGenerator<ModelEvent, void> {
  yield { type: 'error', error }
}
