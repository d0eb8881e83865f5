import { matches } from '../contract/glob.ts'
import type { ModelWindow } from '../contract/model.ts'

/**
 * The windows that providers document, by globs of `provider/name`; the first that matches counts. Where servers enforce
 * less than they list, this is what they enforce. As of 2026-11.
 */
const DOCUMENTED: readonly (readonly [globs: readonly string[], contextTokens: number, outputTokens?: number])[] = [
  [['workers-ai/*llama-3.3-70b*'], 24_000],
  [['workers-ai/*qwen3-30b*'], 32_768],
  [['workers-ai/*gpt-oss-*'], 128_000, 16_384],
  [['workers-ai/*llama-4-scout*', 'workers-ai/*gemma-4*'], 131_072, 16_384],
  [['workers-ai/*glm-5.2*'], 256_000],
  [['workers-ai/*kimi-k2*'], 262_144],
  [['workers-ai/*glm-5.3*', 'workers-ai/*deepseek-v4*'], 1_048_576],
  // A server on one's own machine loads models with small windows by default.
  [['ollama/*'], 32_768],
  [['groq/*llama-3.3-70b*'], 131_072, 32_768],
  [['*gpt-oss-*'], 131_072, 65_536],
  [['*claude-haiku-4-5*', '*claude-sonnet-4-5*', '*claude-opus-4-5*'], 200_000, 64_000],
  [['*claude-*-4-6*', '*claude-*-5*', '*claude-opus-4-7*', '*claude-opus-4-8*'], 1_000_000, 128_000],
  [['*claude-*'], 200_000, 8192],
  // The window is 400,000 tokens in all, of which the prompt may have 272,000.
  [['*gpt-5*', '*gpt-6*'], 400_000, 128_000],
  [['*gpt-4.1*'], 1_047_576, 32_768],
  [['*gpt-4o*'], 128_000, 16_384],
  [['openai/o3*', 'openai/o4-mini*'], 200_000, 100_000],
  [['*gemini-4-argon*'], 1_048_576, 32_768],
  [['*gemini-*'], 1_048_576, 65_536],
  [['*grok-4.3*'], 1_000_000, 30_000],
  [['*grok-*'], 500_000],
  [['*deepseek-*', '*glm-5*'], 1_000_000, 131_072],
  [['*kimi-k3*'], 1_048_576],
  [['*mistral-large-4*'], 1_048_576, 262_144],
  [['*mistral-*-latest*'], 262_144],
  [['*nova-2-lite*'], 1_000_000, 65_535],
  [['*nova-*'], 300_000, 10_000],
]

/** Returns the documented window of a model; undefined if it is not known. */
export function documentedWindow(name: string): ModelWindow | undefined {
  const row = DOCUMENTED.find(([globs]) => matches(globs, name))
  if (!row) return undefined
  const [, contextTokens, outputTokens] = row
  return { contextTokens, ...(outputTokens !== undefined && { outputTokens }) }
}
