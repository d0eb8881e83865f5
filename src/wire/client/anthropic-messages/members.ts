import type { Handling, Hint } from '../members.ts'

/** What `POST /v1/messages` and `POST /v1/messages/count_tokens` do with each member of the vendor's requests. */
export const MESSAGES_MEMBERS = {
  model: 'honoured',
  messages: 'honoured',
  max_tokens: 'honoured',
  system: 'honoured',
  stream: 'honoured',
  tools: 'honoured',
  tool_choice: 'honoured',
  output_config: 'honoured',
  edgecall: 'honoured',
  // Those of its edits that do something here are named one by one.
  context_management: 'honoured',
  compaction: 'honoured',
  stop_sequences: 'forwarded',
  temperature: 'forwarded',
  top_p: 'forwarded',
  top_k: 'forwarded',
  thinking: 'forwarded',
  betas: 'ignored',
  billing_policy: 'ignored',
  cache_control: 'ignored',
  diagnostics: 'ignored',
  fallback_credit_token: 'ignored',
  fallbacks: 'ignored',
  metadata: 'telemetry',
  service_tier: 'vendor',
  speed: 'vendor',
  user_profile_id: 'ignored',
  workspace_id: 'ignored',
  container: 'refused',
  inference_geo: 'refused',
  mcp_servers: 'refused',
  output_format: 'refused',
  thread: 'refused',
} as const satisfies Readonly<Record<string, Handling>>

/** The betas that the edge does by itself, or that announce members which are read in any case. */
const OWN =
  /^(?:mcp-client|context-management|compact|prompt-caching|structured-outputs|tool-search-tool|advanced-tool-use)-/

/** Those that change how a model of Anthropic's answers, and not the form of the answer. */
const FORWARDED =
  /^(?:claude-code|computer-use|interleaved-thinking|thinking-token-count|context-1m|output-\d+k|effort|extended-cache-ttl|fine-grained-tool-streaming|token-efficient-tools|fast-mode)-/

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
