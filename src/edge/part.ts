import type { Config } from '../contract/config.ts'
import type { Hook, LoopSetup } from '../contract/hook.ts'
import type { MakeSetup, Setup } from '../contract/setup.ts'
import type { Tool, ToolFinder, ToolListing, ToolSource } from '../contract/tool.ts'
import type { Directory } from '../directory/directory.ts'
import type { ToolRules } from '../host/policy/source.ts'
import type { OwnedTools, StoredParts } from '../host/source/stored-tools.ts'
import type { Translate } from '../search/keyword-index.ts'
import type { Surface } from '../http/surface.ts'
import type { TriggerHandlers } from '../triggers/triggers.ts'
import type { schedulesObject } from '../triggers/schedules.ts'
import type { ModelWindows } from '../model/windows.ts'
import type { Env } from './env.ts'
import type { ProviderFromEnv } from './providers.ts'

/**
 * A part of an edge: one feature, which an edge has if `use` of `createEdge` names it, and whose code is in the bundle
 * only then. A part says what it needs of the env, which routes it serves, and what it adds to the services that the
 * edge works with.
 *
 * To add a part to Edgecall, write it in `src/edge/` (an API that needs nothing more: in `src/http/surfaces/`) and name
 * it in `src/edge/parts.ts`, which the package exports and `everything` uses.
 *
 * @example
 * const audit: Part = {
 *   name: 'audit',
 *   needs: ({ AUDIT_URL: url }) => (typeof url === 'string' ? undefined : 'the variable AUDIT_URL'),
 *   extend: ({ env, hooks }) => ({
 *     hooks: [
 *       ...hooks,
 *       {
 *         name: 'audit',
 *         call: async (request, next) => {
 *           await fetch(String(env['AUDIT_URL']), { method: 'POST', body: request.name })
 *           return next(request)
 *         },
 *       },
 *     ],
 *   }),
 * }
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, use: [chatCompletions, audit] })
 */
export interface Part {
  /** The name by which it is exported. Of two parts with one name, the last takes the place of the first. */
  readonly name: string
  /**
   * Returns what the edge lacks, to follow “needs”, such as `the binding LOADER`; undefined if it lacks nothing. An edge
   * that lacks it answers 503, and its log says which part needs what. A part that does without returns undefined here.
   * `parts`: the names of all parts of the edge.
   */
  readonly needs?: (env: Env, config: Config, parts: readonly string[]) => string | undefined
  /** The routes that it serves. */
  readonly surfaces?: readonly Surface[]
  /**
   * Returns the services that it adds or replaces; a list or function that it extends, such as `hooks`, contains what was
   * there. Called once per isolate, in the order of `use`. Throws a ConfigError for a variable that it cannot read.
   */
  readonly extend?: (services: Services) => Partial<Services>
  /** The handlers of events other than requests, which the module of the edge exports. */
  readonly handlers?: (makeSetup: MakeSetup<Env>) => TriggerHandlers<Env>
  /** The Durable Object classes that it replaces or adds, which the module of the edge exports. */
  readonly objects?: {
    readonly Directory?: typeof Directory
    readonly Schedules?: (makeSetup: MakeSetup<Env>) => SchedulesClass
  }
}

/** The Durable Object class of the binding `SCHEDULES`. */
export type SchedulesClass = ReturnType<typeof schedulesObject<Env>>

/**
 * What the parts of an edge extend, one after the other: the services that requests and runs use (`Setup`), and those of
 * which `models`, `tools`, `workerTools`, `bindTools`, `finder`, `stored` and `loop` are made afterwards.
 */
export interface Services extends Omit<
  Setup,
  'models' | 'tools' | 'workerTools' | 'bindTools' | 'finder' | 'stored' | 'loop'
> {
  readonly env: Env
  /** Returns the finished setup, with all tools and models. Only for use while requests are handled. */
  readonly setup: () => Setup
  /** The providers of models, by the part of a model's name before the slash. */
  readonly providers: Readonly<Record<string, ProviderFromEnv>>
  /** Makes what is known of the context windows of models. Default: nothing is. */
  readonly makeWindows?: (...known: ConstructorParameters<typeof ModelWindows>) => ModelWindows
  /** Functions around the loop, the first outermost. At first those of the application. */
  readonly hooks: readonly Hook[]
  /** Replacements for parts of the loop. At first those of the application. */
  readonly loop: Omit<LoopSetup, 'hooks'>
  /** Sources of tools beside the bound Workers and the stored definitions. At first those of the application. */
  readonly sources: readonly ToolSource[]
  /** Whether the tools of a binding are other people's, who may change them at any time (`HOLD_CHANGED`). */
  readonly isForeign: (binding: string) => boolean
  /** What binds all tools, whatever their source. */
  readonly rules: ToolRules
  /** Holds back those of other people's tools that have changed. Default: none is held back. */
  readonly gate?: ((tools: readonly Tool[]) => Promise<ToolListing>) | undefined
  /** Makes the stored tools. Default: none can be stored. */
  readonly storedTools?: ((parts: StoredParts) => OwnedTools) | undefined
  /** Makes the search over the tools that all tenants have. Default: tools cannot be searched. */
  readonly search?: ((tools: ToolSource) => ToolFinder) | undefined
  /** Translates the questions by which a tenant's own tools are searched. Default: nothing is translated. */
  readonly translate?: Translate | undefined
}
