import type { Hook, LoopSetup } from '../contract/hook.ts'
import type { Setup } from '../contract/setup.ts'
import type { ToolSource } from '../contract/tool.ts'
import type { Env } from './env.ts'
import type { Part } from './part.ts'
import type { ProviderFromEnv } from './providers.ts'

/** What an edge is made of. A part that is not named is not in the bundle. */
export interface EdgeOptions {
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

/** Returns the parts of an edge, each name once. */
export function partsIn({ use = [] }: EdgeOptions): readonly Part[] {
  return [...new Map(use.map((part) => [part.name, part])).values()]
}
