import type { ModelProvider } from '../contract/model.ts'
import type { ModelChooser } from '../contract/setup.ts'
import { modelChooser } from '../model/choose.ts'
import { retrying } from '../model/retry.ts'
import { withoutSecrets } from '../model/without-secrets.ts'
import type { SetupParts } from './parts.ts'
import type { ProviderFromEnv } from './providers.ts'

/** Makes the models of the providers that the env has what it takes for. Transient failures are retried. */
export function makeModels(
  { env, config, secrets }: SetupParts,
  providers: Readonly<Record<string, ProviderFromEnv>>,
): ModelChooser {
  const usable = Object.entries(providers).flatMap(([name, fromEnv]) => {
    const provider = fromEnv(env)
    if (!provider) return []
    const clean: ModelProvider = secrets ? (model) => withoutSecrets(provider(model), secrets) : provider
    return [[name, (model: string) => retrying(clean(model))] as const]
  })
  return modelChooser({
    providers: Object.fromEntries(usable),
    defaultModel: config.model,
    allowed: config.models,
    prices: config.prices,
    patience: config.patience,
    windows: config.modelWindows,
  })
}
