import type { ModelCapabilities, ModelProvider, ModelRequest } from '../contract/model.ts'
import { type Exchange, exchange } from './exchange.ts'

export interface HttpModels extends Omit<Exchange, 'model' | 'send' | 'signal'> {
  /** The first half of the models' names. */
  readonly provider: string
  readonly capabilities: ModelCapabilities
  /** Asks the model of that name, the second half. Contract: rejects only where no response came. */
  readonly ask: (model: string, request: ModelRequest, signal: AbortSignal) => Promise<Response>
}

/** The models of a provider that is asked with one request each time. */
export function httpModels({ provider, capabilities, ask, ...options }: HttpModels): ModelProvider {
  return (model) => {
    const name = `${provider}/${model}`
    return {
      name,
      capabilities,
      stream: (request, signal) =>
        exchange({ ...options, model: name, signal, send: (abort) => ask(model, request, abort) }),
    }
  }
}
