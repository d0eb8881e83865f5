import type { AcceptedTools } from './acceptance.ts'
import type { StoredTools } from './catalogue.ts'
import type { Config } from './config.ts'
import type { ConversationService, DirectoryService, Objects, WebhookSetup } from './conversation.ts'
import type { ChatModel } from './model.ts'
import type { LoopSetup } from './hook.ts'
import type { RateLimit } from './policy.ts'
import type { ToolSelection } from './run.ts'
import type { Caller, ToolFinder, ToolSource } from './tool.ts'

/** Picks the model of a request. */
export interface ModelChooser {
  resolve(
    name?: string,
  ):
    | { readonly ok: true; /** `provider/name`. */ readonly name: string; readonly model: ChatModel }
    | { readonly ok: false; readonly code: 'model_not_configured' | 'unknown_model'; readonly message: string }
  /** Exact names, for listings. */
  list(): readonly string[]
}

/** Takes what operators should know: one plain object a line, without secrets or content. */
export type Report = (entry: { readonly event: string } & Readonly<Record<string, unknown>>) => void

/** Everything that an edge is made of, as `src/setup.ts` puts it together from its env. */
export interface Setup {
  readonly config: Config
  readonly models: ModelChooser
  /** The tools that a caller may know of. */
  readonly tools: (caller: Caller) => ToolSource
  /** Finds tools by words, for `GET /tools?query=`, whoever may know of them. Default: among those that `tools` lists. */
  readonly finder?: ToolFinder
  readonly stored: StoredTools
  /** Where definitions of tools that are held back are accepted. Default: none are held back. */
  readonly accepted?: AcceptedTools
  readonly conversations: Objects<ConversationService>
  readonly directories: Objects<DirectoryService>
  readonly report: Report
  /** The rate limits that keys name. A key whose one is not there may ask for nothing. */
  readonly rates?: Readonly<Record<string, RateLimit>>
  /** Where webhooks may go. Default: none is sent. */
  readonly webhook?: WebhookSetup
  /** Hooks, and what stands in the place of the loop's own ways. Default: nothing. */
  readonly loop?: LoopSetup
  /** The tools of a model for requests that name none. Default: those of the configuration for all models. */
  readonly toolsOf?: (model: string) => ToolSelection | undefined
  /** What tools are told of a caller and no caller can send, such as the plan of a tenant. */
  readonly trusted?: (caller: Caller) => Readonly<Record<string, unknown>>
}

export type MakeSetup<Env> = (env: Env) => Setup

const made = new WeakMap<object, WeakMap<object, Setup>>()

/** The setup of an env, made once for an isolate: its doors and objects share what it keeps, such as an index of tools. */
export function setupOf<Env extends object>(makeSetup: MakeSetup<Env>, env: Env): Setup {
  const setups = made.get(makeSetup) ?? new WeakMap<object, Setup>()
  made.set(makeSetup, setups)
  const setup = setups.get(env) ?? makeSetup(env)
  setups.set(env, setup)
  return setup
}
