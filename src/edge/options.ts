import type { Hook, LoopSetup } from '../contract/hook.ts'
import type { Setup } from '../contract/setup.ts'
import type { ToolSource } from '../contract/tool.ts'
import type { Surface } from '../http/surface.ts'
import type { Env } from './env.ts'
import type { Part } from './part.ts'
import type { ProviderFromEnv } from './providers.ts'

/** What an edge is made of. A part that is not named is not in the bundle. */
export interface EdgeOptions extends OldOptions {
  /** The model providers, by the part of a model's name before the slash: `openai` serves `openai/gpt-4.1-mini`. */
  readonly providers: Readonly<Record<string, ProviderFromEnv>>
  /**
   * The parts beside the native API: other APIs, such as `chatCompletions`, and features, such as `toolSearch()`. Of two
   * with one name, the last takes the place of the first. Default: none.
   */
  readonly use?: readonly Part[]
  /** Further tools, such as `agentSource(agents, setup)`. `setup` is that of the edge. Default: none. */
  readonly sources?: (setup: Setup, env: Env) => readonly ToolSource[]
  /** Functions around the loop, the first outermost. Default: none. */
  readonly hooks?: readonly Hook[]
  /** Replacements for parts of the loop. Default: none. */
  readonly loop?: Omit<LoopSetup, 'hooks'>
  /** Chooses tools by model, for requests that name none. Default: `DEFAULT_TOOLS`. */
  readonly toolsOf?: Setup['toolsOf']
  /** Returns the trusted context of a caller, such as the plan of its tenant. Tools get it; no request can set it. */
  readonly trusted?: Setup['trusted']
}

/** The options that named parts before there was `use`, each with the parts that it named. */
const OLD_OPTIONS = {
  surfaces: 'chatCompletions, …',
  stored: 'storedTools',
  search: 'toolSearch()',
  identity: 'identityTokens',
  policies: 'toolPolicies',
  disabledKeys: 'disabledKeys',
  storedKeys: 'storedKeys',
  files: 'linkedFiles',
  connections: 'mcpConnections',
  backups: 'backups',
  webhooks: 'webhooks',
  summaries: 'summaries',
  shards: 'shardedDirectories',
  metrics: 'metrics',
  traces: 'traces',
  outcomes: 'reportedOutcomes',
} as const

type OldName = keyof typeof OLD_OPTIONS

/** The options that named parts before there was `use`. They still work in this version, and the log names each. */
export interface OldOptions extends Readonly<Partial<Record<Exclude<OldName, 'surfaces'>, Part>>> {
  /** @deprecated Name the parts in `use`. A surface of your own is `{ name, surfaces: [surface] }` there. */
  readonly surfaces?: readonly (Part | Surface)[]
}

/** Returns the parts of an edge, each name once: those of `use`, then those of old options. */
export function partsIn(options: EdgeOptions): readonly Part[] {
  const { use = [], surfaces = [] } = options
  const old = oldOptions(options).flatMap(({ option }) => (option === 'surfaces' ? [] : (options[option] ?? [])))
  const parts = [...use, ...surfaces.map((each) => ('routes' in each ? ownSurface(each) : each)), ...old]
  return [...new Map(parts.map((part) => [part.name, part])).values()]
}

/** Returns which old options are set, and what `use` has for each. */
export function oldOptions(options: EdgeOptions): readonly { readonly option: OldName; readonly use: string }[] {
  const names = Object.keys(OLD_OPTIONS).filter((name): name is OldName => name in OLD_OPTIONS)
  return names.flatMap((option) => (options[option] === undefined ? [] : [{ option, use: OLD_OPTIONS[option] }]))
}

function ownSurface(surface: Surface): Part {
  return { name: Object.keys(surface.routes).join(' '), surfaces: [surface] }
}
