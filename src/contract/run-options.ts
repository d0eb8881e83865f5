/** The library whose defaults and texts are used where ours differ: for limits, failed calls and results. */
export type Compat = 'spring-ai' | 'langchain4j'

/** Which text of a run is shown: only the final answer (`final`), or also text before tool calls (`all`). */
export type Rounds = 'final' | 'all'

/** Which text is shown if a request does not say. `auto`: in a stream all of it, in a complete answer the final one. */
export type DefaultRounds = Rounds | 'auto'

/** Returns which text the library shows: a stream of Spring AI leaves out the chunks that come with calls. */
export function compatRounds(compat: Compat | undefined): DefaultRounds {
  return compat === 'spring-ai' ? 'final' : 'auto'
}

/** The rule of one option. Its values are texts, or `false` and `true`, which a variable spells `off` and `on`. */
interface OptionRule {
  /** The variable that sets the option for all runs of an edge. A request's member of the same name wins over it. */
  readonly variable: string
  /** What the option may be; the first value is the default. */
  readonly values: readonly [string | boolean, ...(string | boolean)[]]
  /** The default in an edge or a run with `compat`. */
  readonly compat?: string
}

/**
 * The options of a run. This is the only list of them: the configuration, the schemas of requests, the OpenAPI document
 * and docs/run-configuration.md are made from it, the texts from the comments here.
 */
export const RUN_OPTIONS = {
  /** Who runs the edge's tools. With `caller`, the caller gets their calls, as it gets those of its own tools. */
  execution: { variable: 'TOOL_EXECUTION', values: ['edge', 'caller'] },
  /** What happens after a failed call: the model gets the error (`model`), or the run fails (`fail`). */
  toolErrors: { variable: 'TOOL_ERRORS', values: ['model', 'fail'] },
  /**
   * What happens when a limit is reached. `answer`: one last answer without tools. `model`: the call is refused and the
   * model continues with its tools; for `steps`, `tokens`, `cost` and `sameCalls` this is the same as `answer`. `fail`: the run fails.
   */
  onLimit: { variable: 'ON_LIMIT', values: ['answer', 'model', 'fail'], compat: 'fail' },
  /** Whether the finished calls of the run are undone, newest first, when a call fails. */
  compensate: { variable: 'COMPENSATE', values: [false, true] },
  /**
   * Whether calls of read-only and idempotent tools start before the model's answer is complete. Not where tokens or cost
   * are limited: what the answer uses is known at its end.
   */
  eager: { variable: 'EAGER_CALLS', values: [false, true] },
  /**
   * Whether models can run programs that call tools (`run_code`): not at all, beside calling the tools themselves
   * (`also`), or in place of it (`only`). Needs the part `codeMode`.
   */
  code: { variable: 'CODE_MODE', values: ['off', 'also', 'only'] },
  /** Whether a stored run is cancelled when the client that started it disconnects before its response is complete. */
  cancelOnDisconnect: { variable: 'CANCEL_ON_DISCONNECT', values: [false, true] },
} as const satisfies Readonly<Record<string, OptionRule>>

type Rules = typeof RUN_OPTIONS
type OptionName = keyof Rules

/** The options of a run, by name. */
export type RunOptionValues = { readonly [Name in OptionName]: Rules[Name]['values'][number] }

/** What happens when a limit is reached; see `RUN_OPTIONS`. */
export type OnLimit = RunOptionValues['onLimit']

/** Returns the options with their rules. */
export function optionRules(): readonly (readonly [name: string, rule: OptionRule])[] {
  return Object.entries(RUN_OPTIONS)
}

/** Makes options of a value for each of them. */
export function optionValues(valueOf: (rule: OptionRule, name: string) => unknown): RunOptionValues {
  return Object.fromEntries(optionRules().map(([name, rule]): readonly unknown[] => [name, valueOf(rule, name)]))
}

/** The options as a request sets them. */
type Choice = { readonly [Name in OptionName]?: RunOptionValues[Name] | undefined } & {
  readonly compat?: Compat | undefined
}

/** Returns the options of a run: those of the request, else of the edge. */
export function chooseOptions(edge: RunOptionValues & { readonly compat?: Compat }, request: Choice): RunOptionValues {
  // A request that brings `compat` brings its defaults with it.
  const isNew = request.compat !== undefined && edge.compat === undefined
  return optionValues(
    ({ compat }, name) => Reflect.get(request, name) ?? (isNew ? compat : undefined) ?? Reflect.get(edge, name),
  )
}
