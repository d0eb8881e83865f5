import type { DecisionModel } from '../contract/decision.ts'
import { ConfigError, textVar } from '../contract/vars.ts'
import { type InjectionOptions, modelJudge } from '../host/policy/judge.ts'
import { type DecisionModels, openAiDecisions, systemOne, workersAiDecisions } from '../model/decisions.ts'
import { isAi } from '../model/workers-ai.ts'
import { type Env, textOf } from './env.ts'
import type { Part, Services } from './part.ts'

/** Makes the decision models of a provider from the env; undefined if the env lacks what they need. */
export type DecisionsFromEnv = (env: Env) => DecisionModels | undefined

/** The providers of decision models, by the part of a model's name before the slash. */
export const allDecisionProviders = {
  systemone: (env) => systemOne(serverFrom(env, 'SYSTEMONE')),
  openai: (env) => openAiDecisions(serverFrom(env, 'OPENAI')),
  'workers-ai': ({ AI: ai }) => (isAi(ai) ? workersAiDecisions(ai) : undefined),
} satisfies Readonly<Record<string, DecisionsFromEnv>>

export interface DecisionsOptions {
  /** The providers, by the part of a model's name before the slash. Default: `systemone`, `openai` and `workers-ai`. */
  readonly providers?: Readonly<Record<string, DecisionsFromEnv>>
  /** How likely it must be that a call may go ahead without a person, from 0.5 to 1. Default 0.95. */
  readonly threshold?: number
  /** How long the model may take, in milliseconds. Then a person decides about the call. Default 5,000. */
  readonly timeoutMs?: number
  /**
   * Whether untrusted results are judged before a model reads them. One that is an attack with the probability
   * `threshold` (default 0.5) is withheld; and so is one that could not be judged, unless `onFailure` is `pass`. Default: no.
   */
  readonly injection?: boolean | Partial<InjectionOptions>
  /** Whether the first 40 tools that `tool_search` finds are ranked, within two seconds at most. Default: no. */
  readonly search?: boolean
}

/**
 * Decisions: where a policy says `"approval": "decide"`, a decision model (`DECISION_MODEL`) is asked about each call. The
 * call goes ahead if the model is sure that the user asked for it and that it is harmless; otherwise a person decides. With
 * `injection`, it is asked about untrusted results as well.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [toolPolicies, decisions({ injection: true })] })
 */
export function decisions({
  providers = allDecisionProviders,
  threshold = 0.95,
  timeoutMs = 5000,
  injection = false,
  search = false,
}: DecisionsOptions = {}): Part {
  return {
    name: 'decisions',
    extend: (services) => {
      if (!(threshold >= 0.5 && threshold <= 1))
        throw new ConfigError('decisions', 'made with a threshold from 0.5 to 1')
      const results = injection
        ? { threshold: 0.5, onFailure: 'withhold' as const, ...(injection !== true && injection) }
        : undefined
      if (results && !(results.threshold > 0 && results.threshold <= 1))
        throw new ConfigError('decisions', 'made with a threshold of injection above 0, up to 1')
      const model = modelOf(services, providers)
      if (!model && (results || search))
        throw new ConfigError('decisions', 'made without injection and search in an edge without DECISION_MODEL')
      const judge = model && modelJudge({ model, threshold, timeoutMs, injection: results, search })
      return judge ? { loop: { ...services.loop, judge } } : {}
    },
  }
}

/** Makes the model that `DECISION_MODEL` names; undefined if it names none. */
function modelOf(
  { env, config: { prices } }: Services,
  providers: Readonly<Record<string, DecisionsFromEnv>>,
): DecisionModel | undefined {
  const name = textVar(env, 'DECISION_MODEL')
  if (name === undefined) return undefined
  const slash = name.indexOf('/')
  const provider = name.slice(0, slash)
  const models = Object.hasOwn(providers, provider) ? providers[provider]?.(env) : undefined
  if (!models || slash === name.length - 1) {
    const providerNames = Object.keys(providers).join(', ')
    throw new ConfigError(
      'DECISION_MODEL',
      `provider/name of a decision model that this edge can reach, of ${providerNames}`,
    )
  }
  const { [name]: price } = prices
  return { ...models(name.slice(slash + 1)), ...(price && { price }) }
}

function serverFrom(env: Env, vendor: string) {
  return { baseUrl: textOf(env, `${vendor}_BASE_URL`), apiKey: textOf(env, `${vendor}_API_KEY`) }
}
