import type { ModelProvider } from '../contract/model.ts'
import { anthropic } from '../model/anthropic.ts'
import { gemini } from '../model/gemini.ts'
import { openai, responses } from '../model/openai.ts'
import type { ServerOptions } from '../model/http-models.ts'
import { isAi, workersAi } from '../model/workers-ai.ts'
import { type Env, textOf } from './env.ts'

/**
 * Makes the models of a provider from the env, once per isolate. Returns undefined if the env lacks what the provider
 * needs; its models are then unknown.
 */
export type ProviderFromEnv = (env: Env) => ModelProvider | undefined

/** Any server of Chat Completions: `OPENAI_BASE_URL`, by default OpenAI’s, with `OPENAI_API_KEY`. */
export const openaiFromEnv: ProviderFromEnv = (env) => openai(serverFrom(env, 'OPENAI'))

/** OpenAI’s Responses API: `OPENAI_BASE_URL` and `OPENAI_API_KEY`. */
export const responsesFromEnv: ProviderFromEnv = (env) => responses(serverFrom(env, 'OPENAI'))

/** Anthropic’s Messages API: `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY`. */
export const anthropicFromEnv: ProviderFromEnv = (env) => anthropic(serverFrom(env, 'ANTHROPIC'))

/** Google’s Gemini API: `GEMINI_BASE_URL` and `GEMINI_API_KEY`. */
export const geminiFromEnv: ProviderFromEnv = (env) => gemini(serverFrom(env, 'GEMINI'))

/** Workers AI: the binding `AI`. */
export const workersAiFromEnv: ProviderFromEnv = ({ AI: ai, ...env }) =>
  isAi(ai) ? workersAi(ai, { cache: cacheFrom(env) }) : undefined

/** All of them, by the names that the documentation uses. */
export const allProviders = {
  openai: openaiFromEnv,
  responses: responsesFromEnv,
  anthropic: anthropicFromEnv,
  gemini: geminiFromEnv,
  'workers-ai': workersAiFromEnv,
} satisfies Readonly<Record<string, ProviderFromEnv>>

function serverFrom(env: Env, vendor: string): ServerOptions & { readonly cache: '5m' | '1h' | 'off' } {
  return {
    baseUrl: textOf(env, `${vendor}_BASE_URL`),
    apiKey: textOf(env, `${vendor}_API_KEY`),
    cache: cacheFrom(env),
  }
}

function cacheFrom(env: Env): '5m' | '1h' | 'off' {
  const setting = textOf(env, 'PROMPT_CACHE')
  return setting === '1h' || setting === 'off' ? setting : '5m'
}
