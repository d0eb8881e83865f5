import type { ChatModel, ModelError } from '../contract/model.ts'
import { attempts } from './attempts.ts'

export interface FallbackOptions {
  /** Which failures another model is asked after. Default: all but a request that was refused for what it says. */
  readonly after?: ((error: ModelError) => boolean) | undefined
}

/**
 * A model that is one of several: each is asked when the one before it failed before its first event. It has the name and
 * the price of the first. The failure of the last stands.
 */
export function fallingBack(models: readonly [ChatModel, ...ChatModel[]], options: FallbackOptions = {}): ChatModel {
  const { after = ({ code }) => code !== 'model_refused_request' } = options
  return {
    ...models[0],
    stream: (request, signal) =>
      attempts(
        () => models[0].stream(request, signal),
        (error, failures) => (after(error) && !signal.aborted ? models[failures]?.stream(request, signal) : undefined),
      ),
  }
}
