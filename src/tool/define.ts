import { canonicalJson, type JsonSchema, sha256 } from '../contract/json.ts'
import { contentText } from '../contract/message.ts'
import { nameOf, wireName } from '../contract/tool-names.ts'
import type { ToolDefinition, ToolTerms } from '../contract/tool-definition.ts'
import { type CallStatus, failure, type ToolOutcome, type ToolSource, type ToolSuccess } from '../contract/tool.ts'
import { decoder } from '../schema/coerce.ts'
import { describeIssues, invalidOutput, toIssue } from '../schema/issue.ts'
import type { InputSchema, OutputOf } from '../schema/standard-schema.ts'
import { argumentsOf, parseWithNulls } from './arguments.ts'
import { convertInput, plain } from './input-schema.ts'
import { Later, laterOutcome, type RunContext } from './run-context.ts'
import type { Finding, KeyStatus } from './once.ts'
import { isToolError, toFailure, ToolError, toOutcome } from './result.ts'

export type { RunContext }

/** A tool's settings: what is said of it beside its arguments, and how the host treats it. */
export interface ToolSettings extends ToolTerms {
  /** Says when to use the tool and what it answers. The model has nothing else to go by. */
  readonly description: string
  /** The name that the tool has elsewhere, such as on another server. Policies and limits of the edge hold by it too. */
  readonly ownName?: string
  /** The schema of the structured result. A result that does not fit it fails the call (`invalid_output`). */
  readonly output?: InputSchema
  /** Whether results are checked by `output`. Default true; `false` for a schema that others have written. */
  readonly checkOutput?: boolean
  /** Default `1`. */
  readonly version?: string
  /** Whether `run` may return `context.later(…)`, and report the result to `context.reportTo`. Default: if it has `poll`. */
  readonly later?: boolean
}

/** Functions that shape a tool's results and errors, that say what became of a lost call, and that undo a call. */
export interface ToolHandlers<Input, Env, Result> {
  /** Turns the value that `run` returned into the one to report: a text, `content(…)`, or a value that becomes JSON. */
  readonly result?: (value: Exclude<Result, Later>, context: RunContext<Env>) => unknown
  /**
   * Returns what to report for an error of `run` or `result`: a text for the model, or a ToolError, which may be
   * `fatal`. If it returns nothing, the error is treated as without it. A ToolError that it throws counts as returned;
   * any other error that it throws is ignored.
   */
  readonly onError?: (error: unknown, context: RunContext<Env>) => ErrorAnswer | Promise<ErrorAnswer>
  /**
   * Returns what became of the call with `context.idempotencyKey`, whose outcome was lost, and changes nothing. The
   * host asks before it gives the call up or sends it again. The `status(key)` of a `Once` is such an answer.
   */
  readonly status?: (context: RunContext<Env>, input: Input) => StatusAnswer<Result> | Promise<StatusAnswer<Result>>
  /**
   * Returns the result of a call for which `run` has returned `context.later({ poll, … })`, or `context.later(…)` again if
   * there is none yet. `state` is that of the answer before. A ToolError is the outcome; after any other error it is
   * asked again.
   */
  readonly poll?: (input: Input, state: string | undefined, context: RunContext<Env>) => Result | Promise<Result>
  /**
   * Undoes a finished call; the host asks for it after a later call of the run has failed for good.
   * `context.idempotencyKey` is that of the call itself: an effect of undoing needs a key of its own. If it throws, the
   * undo has failed.
   */
  readonly undo?: (input: Input, outcome: ToolSuccess, context: RunContext<Env>) => unknown
}

type ErrorAnswer = string | ToolError | undefined | void

/** `started` (the call began, and was not seen to end) counts as `unknown`. */
type StatusAnswer<Result> = KeyStatus | 'unknown' | Finding<Result>

export interface ToolOptions<Schema extends InputSchema, Env, Result>
  extends ToolSettings, ToolHandlers<OutputOf<Schema>, Env, Result> {
  /** Any text. Providers get its `wireName`; if that differs, the name is the default for the title. */
  readonly name: string
  /**
   * A Valibot schema, or any Standard Schema that gives its JSON Schema; `jsonSchema(…)` makes one of a plain JSON
   * Schema. The model reads a field's `v.description(…)`. The value of a schema that is not about an object is sent as
   * the field `input`, and `run` gets that value.
   */
  readonly input: Schema
  /**
   * Does the work. The value that it returns becomes the result: undefined is `Success`, a string stays as it is,
   * `content(…)` gives parts such as images, anything else is JSON. To fail in a way that the model can act on, throw a
   * `ToolError`; any other exception reaches the model as a bare “failed”, and the Worker's log and operators in full.
   */
  readonly run: (input: OutputOf<Schema>, context: RunContext<Env>) => Result | Promise<Result>
}

/** A tool of this Worker: its definition, and the functions that perform its calls. */
export interface DefinedTool<Env = unknown> {
  /** The name that providers get (`wireName`). */
  readonly name: string
  /** The definition without its hash. */
  readonly outline: ToolOutline
  /** Returns the definition with its hash, which is computed once. */
  readonly describe: () => Promise<ToolDefinition>
  /** Validates the arguments and runs the tool. Contract: never rejects. */
  readonly call: (input: unknown, context: RunContext<Env>) => Promise<ToolOutcome>
  /** Present if `outline.reconcile` is. Contract: never rejects. */
  readonly status?: (input: unknown, context: RunContext<Env>) => Promise<CallStatus>
  /** Present if `outline.undo` is. Contract: never rejects. */
  readonly undo?: (input: unknown, outcome: ToolSuccess, context: RunContext<Env>) => Promise<ToolOutcome>
  /** Contract: never rejects. */
  readonly poll?: (input: unknown, state: string | undefined, context: RunContext<Env>) => Promise<ToolOutcome>
}

export type ToolOutline = Omit<ToolDefinition, 'hash'>

/**
 * Defines a tool. Throws a TypeError at once, when the Worker starts, for an empty name or description, and for a
 * schema that has no JSON form; the error names the place in the schema and what to do.
 *
 * @example
 * export const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   input: v.object({ a: v.number(), b: v.number() }),
 *   run: ({ a, b }) => a + b,
 * })
 */
export function defineTool<const Schema extends InputSchema, Env = unknown, Result = unknown>(
  options: ToolOptions<Schema, Env, Result>,
): DefinedTool<Env> {
  const { name: givenName, description, input, checkOutput = true, run, result, onError, status, undo, poll } = options
  const name = wireName(givenName)
  // A tool in JavaScript may have none at all.
  if ((description ?? '').trim() === '')
    throw new TypeError(`Tool "${givenName}" needs a description: it is all the model sees`)
  const { schema, parse } = argumentsOf(input, `Tool "${givenName}": input`)
  const output = options.output && outputOf(name, options.output, `Tool "${givenName}": output`)
  const outline = makeOutline(options, name, { inputSchema: schema, ...(output && { outputSchema: output.schema }) })
  const failureOf = (error: unknown) => toFailure(name, error)
  /** Parses the arguments and passes them to `work`; an exception becomes a failed outcome. */
  const withInput = async <Output>(
    rawInput: unknown,
    { compat }: Pick<RunContext<Env>, 'compat'>,
    work: (input: OutputOf<Schema>) => Promise<Output>,
  ) => {
    try {
      const parsed = await parseWithNulls({ schema, parse }, rawInput, compat)
      if (parsed.ok) return await work(parsed.value)
      const misfit = failure('invalid_arguments', describeIssues(name, parsed.issues))
      return parsed.fatal ? { ...misfit, error: { ...misfit.error, fatal: true } } : misfit
    } catch (error) {
      return failureOf(error)
    }
  }
  const outcomeOf = async (value: Result, context: RunContext<Env>) => {
    if (value instanceof Later) return laterOutcome(value)
    const outcome = await toOutcome(result && isResult(value) ? await result(value, context) : value, context.compat)
    return output && checkOutput ? output.check(outcome) : outcome
  }
  /** Does the work of a call; an error is reported as the tool's `onError` says. */
  const perform = async (context: RunContext<Env>, work: () => Result | Promise<Result>) => {
    try {
      return await outcomeOf(await work(), context)
    } catch (error) {
      return failureOf(await reportedError(error, onError && (() => onError(error, context))))
    }
  }
  return {
    name,
    outline,
    describe: describer(outline),
    call: (rawInput, context) => withInput(rawInput, context, (input) => perform(context, () => run(input, context))),
    ...(poll && {
      poll: (rawInput, state, context) =>
        withInput(rawInput, context, (input) => perform(context, () => poll(input, state, context))),
    }),
    ...(status && {
      status: async (rawInput, context) => {
        const answer = await withInput(rawInput, context, async (input): Promise<CallStatus> => {
          const answer = await status(context, input)
          if (typeof answer === 'string') return answer === 'started' ? 'unknown' : answer
          if (answer.status !== 'done') return answer.status
          const outcome = await outcomeOf(answer.result, context)
          return outcome.ok ? outcome : 'done'
        })
        // A failure here is that of the status check, not of the call.
        return typeof answer === 'string' || answer.ok ? answer : 'unknown'
      },
    }),
    ...(undo && {
      undo: (rawInput, outcome, context) =>
        withInput(rawInput, context, async (input) => toOutcome(await undo(input, outcome, context))),
    }),
  }
}

/** Returns the definition, without its hash, that the options describe. */
function makeOutline<Schema extends InputSchema, Env, Result>(
  options: ToolOptions<Schema, Env, Result>,
  name: string,
  schemas: Pick<ToolOutline, 'inputSchema' | 'outputSchema'>,
): ToolOutline {
  const { name: givenName, description, version = '1', annotations = {}, status, undo, ...rest } = options
  const {
    input: _,
    output: _output,
    checkOutput: _checkOutput,
    run: _run,
    result: _result,
    onError: _onError,
    poll,
    later = poll !== undefined,
    ...settings
  } = rest
  return {
    name,
    ...(name !== givenName && { title: givenName }),
    ...(nameOf(name) === undefined && { ownName: givenName }),
    description,
    ...schemas,
    ...settings,
    version,
    annotations,
    ...(status && { reconcile: true }),
    ...(undo && { undo: true }),
    ...(later && { later }),
  }
}

function isResult<Value>(value: Value): value is Exclude<Value, Later> {
  return !(value instanceof Later)
}

/** Returns the error to report, after asking the tool's own `onError`. */
async function reportedError(
  error: unknown,
  onError: (() => ErrorAnswer | Promise<ErrorAnswer>) | undefined,
): Promise<unknown> {
  try {
    const answer = await onError?.()
    return typeof answer === 'string' ? new ToolError(answer, { cause: error }) : (answer ?? error)
  } catch (nested) {
    return isToolError(nested) ? nested : error
  }
}

/** Returns a function that completes an outline with its hash, which is computed once. */
export function describer(outline: ToolOutline): () => Promise<ToolDefinition> {
  // The value is kept, never its promise: a promise belongs to the request that made it.
  let hash: string | undefined
  return async () => {
    hash ??= await definitionHash(outline)
    return { ...outline, hash }
  }
}

/** Returns the hash by which a host checks that a tool still has the definition that the model received. */
export function definitionHash(
  definition: Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'inputExamples' | 'outputSchema'>,
): Promise<string> {
  const { name, description, inputSchema, inputExamples, outputSchema } = definition
  return sha256(canonicalJson({ name, description, inputSchema, inputExamples, outputSchema }))
}

/** A tool's output schema: its published form, and the check of a result. */
interface Output {
  readonly schema: JsonSchema
  /** Returns the outcome if its structured result, else its text, fits; else the failure `invalid_output`. */
  readonly check: (outcome: ToolOutcome) => Promise<ToolOutcome>
}

/** Makes the check of a tool's results. Throws a TypeError that names the tool if the schema has no JSON form. */
function outputOf(tool: string, schema: InputSchema, subject: string): Output {
  const json = convertInput(schema, subject)
  const decode = decoder(json)
  return {
    schema: plain(json),
    check: async (outcome) => {
      if (!outcome.ok) return outcome
      const result = 'structured' in outcome ? outcome.structured : contentText(outcome.content)
      const { issues } = await schema['~standard'].validate(decode(result))
      return issues
        ? invalidOutput(
            tool,
            issues.map((issue) => toIssue(issue)),
          )
        : outcome
    },
  }
}

/**
 * Returns the definitions of a tool, of several tools, or of all tools of a source, in their order. Runs no tool.
 *
 * @example
 * const [definition] = await toolDefinitions(tool)
 */
export async function toolDefinitions<Env>(
  source: DefinedTool<Env> | readonly DefinedTool<Env>[] | ToolSource,
): Promise<readonly ToolDefinition[]> {
  if ('list' in source) return (await source.list()).tools.map((tool) => tool.definition)
  return Promise.all([source].flat().map((tool) => tool.describe()))
}

/** Maps tools by name, in their order. The same tool may come twice; throws a TypeError for two tools of one name. */
export function toolsByName<Env>(tools: readonly DefinedTool<Env>[]): ReadonlyMap<string, DefinedTool<Env>> {
  const byName = new Map<string, DefinedTool<Env>>()
  for (const tool of tools) {
    const existing = byName.get(tool.name)
    if (existing && existing !== tool) throw new TypeError(`Two tools here are named "${tool.name}"`)
    byName.set(tool.name, tool)
  }
  return byName
}

/** The settings of a method as a tool. */
export interface MethodOptions<Schema extends InputSchema, Env>
  extends ToolSettings, ToolHandlers<OutputOf<Schema>, Env, unknown> {
  /** Default: the method's own name. */
  readonly name?: string
  readonly input: Schema
}

type Schemas = Readonly<Record<string, InputSchema>>

/** An object whose methods take the output of these schemas. */
type TargetOf<Inputs extends Schemas> = {
  readonly [Name in keyof Inputs]: (input: OutputOf<Inputs[Name]>, context: RunContext<never>) => unknown
}

/** The type of `env` that the named methods expect in their run context. */
type EnvOf<Target, Name> = Target[Name & keyof Target] extends (input: never, context: RunContext<infer Env>) => unknown
  ? Env
  : unknown

/**
 * Makes tools of an object's methods: `toolsOf(new Bookings(), { find: { description, input } })`. The types hold each
 * method to its schema. A method runs with the object as `this`, and gets the run context after its input; inherited
 * methods count, and overrides win. Throws a TypeError for a class in place of an instance, and for a name that is not
 * a method.
 */
export function toolsOf<Target extends object, const Inputs extends Schemas>(
  target: Target & TargetOf<NoInfer<Inputs>>,
  methods: { readonly [Name in keyof Inputs]: MethodOptions<Inputs[Name], EnvOf<Target, keyof Inputs>> },
): DefinedTool<EnvOf<Target, keyof Inputs>>[] {
  const value: unknown = target
  if (typeof value !== 'object' || value === null) {
    const description = typeof value === 'function' ? `the class or function ${value.name}` : String(value)
    throw new TypeError(`toolsOf expects an object or an instance of a class, received ${description}`)
  }
  return Object.keys(methods).map((method: keyof Inputs & string) => {
    const isMethod = typeof Reflect.get(target, method) === 'function' && method !== 'constructor'
    if (!isMethod || Reflect.get(target, method) === Reflect.get(Object.prototype, method)) {
      throw new TypeError(`toolsOf: "${method}" is not a method of the object`)
    }
    return defineTool<Inputs[typeof method], EnvOf<Target, keyof Inputs>>({
      name: method,
      ...methods[method],
      run: (input, context): unknown => Reflect.apply(target[method], target, [input, context]),
    })
  })
}
