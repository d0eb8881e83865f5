import type { Hint } from '../members.ts'

/** The betas that the edge does by itself, or that announce members which are read in any case. */
const OWN = /^(?:mcp-client|context-management|prompt-caching|structured-outputs|tool-search-tool|advanced-tool-use)-/

/** Those that change how a model of Anthropic's answers, and not the form of the answer. */
const FORWARDED =
  /^(?:claude-code|interleaved-thinking|thinking-token-count|context-1m|output-\d+k|effort|extended-cache-ttl|fine-grained-tool-streaming|token-efficient-tools|fast-mode)-/

/** Reads the header `anthropic-beta`, a list of names, as hints to models of Anthropic; they are telemetry as such. */
export function readBetas(header: string | undefined): readonly Hint[] {
  const names = (header ?? '').split(',').map((name) => name.trim())
  const others = names.filter((name) => name !== '' && !OWN.test(name))
  const forwarded = others.filter((name) => FORWARDED.test(name))
  const hint = { vendor: 'anthropic', isTelemetry: true } as const
  return [
    ...(forwarded.length > 0 ? [{ ...hint, name: 'anthropic-beta', value: forwarded }] : []),
    ...others
      .filter((name) => !FORWARDED.test(name))
      .map((name) => ({ ...hint, name: `anthropic-beta.${name}`, value: true })),
  ]
}
